import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';

/*
 * The calls of the REST API that a pipeline needs, in one file to copy. It needs Node 20 or newer and no package.
 * Settings come from the environment:
 *   CONTROL_PLANE_URL  base address of the control plane
 *   API_KEY            a key with the write role
 *   TENANT_ID          only for credentials of several tenants
 */

/** A failure whose message is printed without a stack. */
export class Failure extends Error {}

export const say = (line) => console.log(line);

const REQUEST_MILLISECONDS = 30_000;
const TRIES = 5;
const NO_ANSWER = 0;
/** Statuses that are worth another try. */
const BUSY = [NO_ANSWER, 429, 502, 503, 504];

export function apiFromEnvironment() {
  const { CONTROL_PLANE_URL: url, API_KEY: key, TENANT_ID: tenant } = process.env;
  if (!url || !key) throw new Failure(`${url ? 'API_KEY' : 'CONTROL_PLANE_URL'} is not set.`);
  return {
    url: url.replace(/\/$/, ''),
    headers: { 'x-api-key': key, ...(tenant && { 'x-tenant-id': tenant }) },
  };
}

/** Returns the answer's body, or undefined if `missing` allows a 404. Asks again if the server is busy or away. */
export async function request(api, method, path, { body, missing = false } = {}) {
  // Every try has the same key, so that a creation whose answer got lost happens once.
  const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {};
  const sent = {
    method,
    headers: { ...api.headers, 'content-type': 'application/json', ...key },
    body: body && JSON.stringify(body),
  };
  for (let attempt = 1; ; attempt += 1) {
    const { ok, status, text } = await once(api.url + path, sent);
    if (ok) return text === '' ? undefined : JSON.parse(text);
    if (missing && status === 404) return undefined;
    if (!BUSY.includes(status) || attempt === TRIES)
      throw new Failure(`${method} ${path} ${problem(status, text)}`);
    await wait(500 * 2 ** attempt);
  }
}

async function once(url, sent) {
  try {
    const response = await fetch(url, {
      ...sent,
      signal: AbortSignal.timeout(REQUEST_MILLISECONDS),
    });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (error) {
    return { ok: false, status: NO_ANSWER, text: error.cause?.message ?? error.message };
  }
}

function problem(status, text) {
  if (status === NO_ANSWER) return `got no answer: ${text}`;
  try {
    const { detail } = JSON.parse(text);
    const sentence = Array.isArray(detail)
      ? detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')
      : detail;
    return `was answered with ${status}: ${sentence}`;
  } catch {
    return `was answered with ${status}: ${text.slice(0, 500)}`;
  }
}

export async function findByName(api, name) {
  const { resources } = await request(
    api,
    'GET',
    `/v2/deployments?name=${encodeURIComponent(name)}`,
  );
  return resources[0];
}

/** Waits until a deployment that is being deleted is gone. */
export async function untilGone(api, { id, name }, { timeout, interval }) {
  const deadline = Date.now() + timeout * 1000;
  while ((await request(api, 'GET', `/v2/deployments/${id}`, { missing: true })) !== undefined) {
    if (Date.now() > deadline)
      throw new Failure(`${name} is still being deleted after ${timeout} s.`);
    await wait(interval * 1000);
  }
}

/**
 * Creates the deployment or changes the existing one. Without `secrets` its secrets stay as they are. A new one begins
 * with a copy of the data of `cloneOf`, a deployment's name.
 */
export async function createOrChange(api, { name, image, secrets, resources, cloneOf }, times) {
  const before = await findByName(api, name);
  const source_revision_config = { image_uri: image };
  if (before?.status === 'AWAITING_DELETE') await untilGone(api, before, times);
  else if (before !== undefined) {
    say(`PATCH /v2/deployments/${before.id}: ${name} gets ${image}`);
    const source_config = resources && { resource_spec: resources };
    return request(api, 'PATCH', `/v2/deployments/${before.id}`, {
      body: { source_revision_config, secrets, source_config },
    });
  }
  say(`POST /v2/deployments: ${name} from ${image}`);
  const source_config = { resource_spec: resources ?? {} };
  const body = {
    name,
    source: 'external_container',
    source_config,
    source_revision_config,
    secrets: secrets ?? [],
  };
  if (cloneOf !== undefined) {
    const original = await findByName(api, cloneOf);
    if (original === undefined) throw new Failure(`There is no deployment ${cloneOf} to clone.`);
    body.database = { clone_of: original.id };
  }
  return request(api, 'POST', '/v2/deployments', { body });
}

/** Polls the newest revision until it serves, and returns the deployment. A failure has the reason and the last log lines. */
export async function untilDeployed(
  api,
  { id, latest_revision_id: revisionId },
  { timeout, interval },
) {
  const path = `/v2/deployments/${id}`;
  const deadline = Date.now() + timeout * 1000;
  let last = '';
  for (;;) {
    const revision = await request(api, 'GET', `${path}/revisions/${revisionId}`);
    if (revision.status !== last)
      say(`  ${[revision.status, revision.status_message].filter(Boolean).join(': ')}`);
    last = revision.status;
    if (/FAILED|INTERRUPTED|SKIPPED/.test(last))
      throw new Failure(await failure(api, path, revision));
    if (last === 'DEPLOYED') {
      const deployment = await request(api, 'GET', path);
      // Traffic may still be switching.
      if (deployment.active_revision_id === revisionId) return reported(deployment);
      if (deployment.latest_revision_id !== revisionId)
        throw new Failure('A newer revision took its place.');
    }
    if (Date.now() > deadline)
      throw new Failure(
        `The revision is still ${last} after ${timeout} s. See ${api.url}${path}/revisions/${revisionId}`,
      );
    await wait(interval * 1000);
  }
}

/** Returns why a revision failed, with the last log lines of its pods or of its build. */
async function failure(api, path, { id, status, reason, status_message: message, log_tail: tail }) {
  const type = status === 'BUILD_FAILED' ? 'build' : 'deploy';
  const page = tail
    ? undefined
    : await request(
        api,
        'GET',
        `${path}/revisions/${id}/logs?type=${type}&order=desc&limit=30`,
      ).catch(() => undefined);
  const lines =
    tail ??
    page?.logs
      .map((entry) => entry.message)
      .toReversed()
      .join('\n');
  const head = `The revision ended as ${status}${reason ? ` (${reason})` : ''}${message ? `: ${message}` : ''}`;
  return lines ? `${head}\nIts last log lines:\n${lines}` : head;
}

export const urlOf = (deployment) => deployment.url ?? deployment.source_config.custom_url;

/** Prints where the agent answers and passes it to the next steps of a GitHub workflow. */
function reported(deployment) {
  const outputs = {
    deployment_id: deployment.id,
    revision_id: deployment.active_revision_id,
    url: urlOf(deployment) ?? '',
  };
  say(`URL: ${outputs.url}`);
  const file = process.env.GITHUB_OUTPUT;
  if (file)
    appendFileSync(
      file,
      Object.entries(outputs)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
  return deployment;
}

/** Runs a script. It exits with 0, or with 1 and a sentence. */
export async function main(work) {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error);
    process.exitCode = 1;
  }
}
