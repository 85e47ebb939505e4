/** Our kinds, each with its plural, as paths of the API server name it. Their schemas are in custom-kinds.ts. */
export const PLURALS = {
  Deployment: 'deployments',
  Revision: 'revisions',
  Backup: 'backups',
  Listener: 'listeners',
  TracingProject: 'tracingprojects',
  GitIntegration: 'gitintegrations',
} as const;
