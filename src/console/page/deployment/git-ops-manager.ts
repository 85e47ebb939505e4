/** The metadata by which tools mark the objects that they keep as their repository says. */
export type Marked = { labels?: Record<string, string>; annotations?: Record<string, string> };

/** Returns the GitOps tool that keeps an object, and the name by which it knows it. Undefined: none does. */
export function findGitOpsManager({
  labels = {},
  annotations = {},
}: Marked): { tool: string; name: string } | undefined {
  const tracking = annotations['argocd.argoproj.io/tracking-id'];
  const argo = tracking?.split(':')[0] ?? labels['argocd.argoproj.io/instance'];
  if (argo !== undefined) return { tool: 'Argo CD', name: argo };
  const flux = labels['kustomize.toolkit.fluxcd.io/name'] ?? labels['helm.toolkit.fluxcd.io/name'];
  if (flux !== undefined) return { tool: 'Flux', name: flux };
  const release = annotations['meta.helm.sh/release-name'];
  if (release !== undefined) return { tool: 'Helm', name: release };
  return undefined;
}
