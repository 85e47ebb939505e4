import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import { names } from '../../../schema/names.ts';
import { buildWorkPath } from '../../../schema/wire/work-report.ts';

/** The folder with the key's files. The kubelet writes them again when the Secret changes. */
const FOLDER = '/etc/gx-key';
const VOLUME = 'gx-key';

/**
 * The fields that give a pod the key that its callers must show, and that it shows where it reports. Empty for a
 * revision whose agents are open and report nowhere.
 */
export type Guarded = { variables: object[]; mounts: object[]; volumes: object[] };

/** Returns the parts of a pod that close it. */
export function buildGuardFields(
  revision: RevisionResource,
  { deploymentId }: { deploymentId: string },
  settings: OperatorSettings,
): Guarded {
  // The agents ask for a key, unless their gx.json names handlers.
  const isClosing = revision.spec.template.sourceRevisionConfig?.auth?.mode !== 'open';
  const reports = buildReportVariables(revision, settings);
  if (!isClosing && reports.length === 0) return { variables: [], mounts: [], volumes: [] };
  const secretName = names.agentKey(revision.spec.deployment);
  return {
    variables: [
      ...(isClosing
        ? [
            { name: 'GX_AGENT_KEY_FOLDER', value: FOLDER },
            ...buildAuthVariables(revision, deploymentId, settings),
          ]
        : []),
      ...reports,
    ],
    mounts: [{ name: VOLUME, mountPath: FOLDER, readOnly: true }],
    volumes: [{ name: VOLUME, secret: { secretName } }],
  };
}

/** Returns where a pod reports its work, and the folder of the key that it shows there. */
function buildReportVariables(
  { metadata, spec }: RevisionResource,
  { gateway, clusterDomain }: OperatorSettings,
): object[] {
  if (gateway === undefined) return [];
  const host = `http://${gateway.service}.${gateway.namespace}.svc.${clusterDomain}`;
  return [
    {
      name: 'GX_REPORT_URL',
      value: host + buildWorkPath(metadata.namespace ?? '', spec.deployment),
    },
    { name: 'GX_REPORT_KEY_FOLDER', value: FOLDER },
  ];
}

/** Returns the variables that let in others than those with the key: keys of the tenant, tokens of an issuer. */
function buildAuthVariables(
  { spec }: RevisionResource,
  deploymentId: string,
  { controlPlaneUrl }: OperatorSettings,
): object[] {
  const {
    mode,
    issuer,
    audiences = [],
    jwks,
    roles,
  } = spec.template.sourceRevisionConfig?.auth ?? {};
  const asked = {
    ...(mode === 'tenant' &&
      controlPlaneUrl !== undefined && {
        GX_AUTH_CHECK_URL: controlPlaneUrl,
        GX_DEPLOYMENT_ID: deploymentId,
      }),
    ...(issuer !== undefined && { GX_AUTH_ISSUER: issuer, GX_AUTH_AUDIENCE: audiences.join(',') }),
    ...(issuer !== undefined && jwks !== undefined && { GX_AUTH_JWKS_URL: jwks }),
    ...(issuer !== undefined && roles !== undefined && { GX_AUTH_ROLE_CLAIM: roles }),
  };
  return Object.entries(asked).map(([name, value]) => ({ name, value }));
}
