import { DeploymentList } from '../deployments/list.tsx';
import { useApp } from './app.ts';
import { lazily } from './lazy.tsx';

const DeploymentPage = lazily(async () => (await import('../deployment/deployment-page.tsx')).DeploymentPage);

/** Shows the place that the address names. */
export function Places() {
  const { router } = useApp();
  const { place } = router.located.value;
  switch (place?.name) {
    case 'deployments':
      return <DeploymentList />;
    case 'deployment':
    case 'compare':
    case 'secrets':
    case 'settings':
    case 'resource':
    case 'logs':
    case 'buildLog':
      return <DeploymentPage key={place.parameters.id} id={place.parameters.id} tab={place.name} />;
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
