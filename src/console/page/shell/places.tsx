import { DeploymentList } from '../deployments/list.tsx';
import { useApp } from './app.ts';

/** Shows the place that the address names. */
export function Places() {
  const { router } = useApp();
  const { place } = router.located.value;
  switch (place?.name) {
    case 'deployments':
      return <DeploymentList />;
    default:
      return <Nowhere />;
  }
}

function Nowhere() {
  const { router } = useApp();
  return (
    <main class="empty">
      <h1 tabIndex={-1}>There is no such page</h1>
      <a href={router.href('deployments', {})}>Go to the deployments</a>
    </main>
  );
}
