import { setTimeout as wait } from 'node:timers/promises';
import type { Report } from '../steps.ts';

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
type Revision = { status: string; reason: string | null; status_message: string | null; log_tail: string | null };

const POLL = 1000;
const PATIENCE = 15 * 60 * 1000;

/** One call of the REST API; an error answer becomes a sentence with the server's `detail`. */
export async function call<T>({ url, key }: Api, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Whether the key opens the API. */
export async function accepted(api: Api): Promise<boolean> {
  const response = await fetch(`${api.url}/v2/deployments?limit=1`, { headers: { 'x-api-key': api.key } });
  return response.ok;
}

export async function ready(url: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.ok === true) return;
    await wait(250);
  }
  throw new Error(`The control plane does not get ready at ${url}.`);
}

/** Creates the deployment, or brings an existing one to this image. */
export async function deploy(api: Api, wanted: { name: string; image: string }, report: Report): Promise<Deployment> {
  const { resources } = await call<{ resources: Deployment[] }>(api, 'GET', `/v2/deployments?limit=100&name_contains=${wanted.name}`);
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
  return call<Deployment>(api, 'PATCH', `/v2/deployments/${existing.id}`, { source_revision_config });
}

/** Polls the newest revision until it serves; every change of status is a line, a failure is told with its reason and log. */
export async function untilDeployed(api: Api, deployment: Deployment, report: Report): Promise<Deployment> {
  const path = `/v2/deployments/${deployment.id}`;
  const deadline = Date.now() + PATIENCE;
  let last = '';
  while (Date.now() < deadline) {
    const revision = await call<Revision>(api, 'GET', `${path}/revisions/${deployment.latest_revision_id}`);
    const line = [revision.status, revision.status_message].filter((part) => part !== null && part !== '').join(': ');
    if (line !== last) report(line);
    last = line;
    if (revision.status === 'DEPLOYED') return call<Deployment>(api, 'GET', path);
    if (/FAILED|INTERRUPTED|SKIPPED/.test(revision.status)) throw new Error(`The revision ended ${line}\n${revision.log_tail ?? ''}`);
    await wait(POLL);
  }
  throw new Error(`The revision is not DEPLOYED after ${PATIENCE / 60_000} minutes (${last}).`);
}

/** Where the agent server of a deployment answers. */
export const agentUrl = (deployment: Deployment): string => {
  const url = deployment.url ?? deployment.source_config.custom_url;
  if (url === null) throw new Error(`The deployment ${deployment.name} tells no URL.`);
  return url;
};
