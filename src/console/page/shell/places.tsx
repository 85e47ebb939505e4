import { DeploymentList } from '../deployments/list.tsx';
import { useApp } from './app.ts';
import { lazily } from './lazy.tsx';

const DeploymentPage = lazily(async () => (await import('../deployment/deployment-page.tsx')).DeploymentPage);

/** Shows the place that the address names. */
export function Places() {
  const { router } = useApp();
  const { place } = router.located.value;
  if (place === undefined) return <Nowhere />;
  if (place.name === 'deployments') return <DeploymentList />;
  return <DeploymentPage key={place.parameters.id} id={place.parameters.id} tab={place.name} />;
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
