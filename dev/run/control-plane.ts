import { Unhealthy } from '../errors.ts';
import type { Report } from '../steps.ts';
import { waitUntil } from '../wait.ts';

export type Api = { url: string; key: string };

type Deployment = {
  id: string;
  name: string;
  status: string;
  latest_revision_id: string;
  url: string | null;
  source_config: { custom_url: string | null };
  source_revision_config: { image_uri: string | null };
};
type Revision = { status: string; status_message: string | null; log_tail: string | null };

/** Seconds that images may take to be pulled and pods to become ready. */
const PATIENCE = 15 * 60;

/** Calls the REST API once. If the server refuses, throws `Unhealthy` with its answer. */
export async function call<T>(
  { url, key }: Api,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Unhealthy(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Returns whether the API accepts the key. */
export async function isKeyAccepted(api: Api): Promise<boolean> {
  const response = await fetch(`${api.url}/v2/deployments?limit=1`, {
    headers: { 'x-api-key': api.key },
  });
  return response.ok;
}

/** Waits until the control plane answers that it is ready. */
export const waitForControlPlane = (url: string): Promise<true> =>
  waitUntil(
    { what: `the control plane at ${url}`, seconds: 60, every: 250 },
    async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok,
  );

/** Creates the deployment, or updates an existing one to this image. */
export async function deploy(
  api: Api,
  wanted: { name: string; image: string },
  report: Report,
): Promise<Deployment> {
  const { resources } = await call<{ resources: Deployment[] }>(
    api,
    'GET',
    `/v2/deployments?limit=100&name_contains=${wanted.name}`,
  );
  const existing = resources.find((deployment) => deployment.name === wanted.name);
  const source_revision_config = { image_uri: wanted.image };
  if (existing === undefined) {
    report(`POST /v2/deployments: ${wanted.name} from ${wanted.image}`);
    const body = {
      name: wanted.name,
      source: 'external_container',
      source_config: { resource_spec: {} },
      source_revision_config,
      secrets: [],
    };
    return call<Deployment>(api, 'POST', '/v2/deployments', body);
  }
  if (existing.source_revision_config.image_uri === wanted.image) {
    report(`${wanted.name} is there already, with this image`);
    return existing;
  }
  report(`PATCH /v2/deployments/${existing.id}: ${wanted.image}`);
  return call<Deployment>(api, 'PATCH', `/v2/deployments/${existing.id}`, {
    source_revision_config,
  });
}

/**
 * Waits until the newest revision serves, and reports every change of status. A failure is reported with its reason and
 * log.
 */
export async function waitForDeployment(
  api: Api,
  deployment: Deployment,
  report: Report,
): Promise<Deployment> {
  const path = `/v2/deployments/${deployment.id}`;
  let last = '';
  await waitUntil(
    { what: `the revision of ${deployment.name} to be DEPLOYED`, seconds: PATIENCE, every: 1000 },
    async () => {
      const revision = await call<Revision>(
        api,
        'GET',
        `${path}/revisions/${deployment.latest_revision_id}`,
      );
      const { status, status_message, log_tail } = revision;
      const line = [status, status_message]
        .filter((part) => part !== null && part !== '')
        .join(': ');
      if (line !== last) report(line);
      last = line;
      if (/FAILED|INTERRUPTED|SKIPPED/.test(status))
        throw new Unhealthy(`The revision ended ${line}\n${log_tail ?? ''}`);
      return status === 'DEPLOYED';
    },
  );
  return call<Deployment>(api, 'GET', path);
}

/** Returns the key that opens the agents of a deployment. */
export const fetchAgentKey = async (api: Api, { id }: Pick<Deployment, 'id'>): Promise<string> =>
  (await call<{ api_key: string }>(api, 'GET', `/v2/deployments/${id}/key`)).api_key;

/** Returns where the agent server of a deployment answers. */
export const requireAgentUrl = (deployment: Deployment): string => {
  const url = deployment.url ?? deployment.source_config.custom_url;
  if (url === null) throw new Unhealthy(`The deployment ${deployment.name} has no URL.`);
  return url;
};
