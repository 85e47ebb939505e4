import type { DeploymentSummary } from '../../../schema/platform/deployment/deployment-summary.ts';

/** Deployments that are offered at a time. */
const MOST = 12;

/** Returns the deployments whose names have a text, those that begin with it first, else by name. */
export function listJumpTargets(
  all: Iterable<DeploymentSummary>,
  text: string,
): DeploymentSummary[] {
  const part = text.trim().toLowerCase();
  const found: DeploymentSummary[] = [];
  for (const one of all) if (one.name.includes(part)) found.push(one);
  const getRank = ({ name }: DeploymentSummary): number => (name.startsWith(part) ? 0 : 1);
  const compareNames = (a: DeploymentSummary, b: DeploymentSummary): number =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  return found.sort((a, b) => getRank(a) - getRank(b) || compareNames(a, b)).slice(0, MOST);
}
