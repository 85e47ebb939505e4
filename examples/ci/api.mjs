import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';

/*
 * What a pipeline needs of the REST API, in one file to copy: Node 20 or newer, no package. Settings come from the environment:
 *   CONTROL_PLANE_URL  base address of the control plane
 *   API_KEY            a key with the write role
 *   TENANT_ID          only with keys of several tenants
 */

/** A failure that is told as it is, without a stack. */
export class Told extends Error {}

export const say = (line) => console.log(line);

const REQUEST_MILLISECONDS = 30_000;
const TRIES = 5;
const NO_ANSWER = 0;
/** What may go better in a moment; everything else is the answer. */
const BUSY = [NO_ANSWER, 429, 502, 503, 504];

export function apiFromEnvironment() {
  const { CONTROL_PLANE_URL: url, API_KEY: key, TENANT_ID: tenant } = process.env;
  if (!url || !key) throw new Told(`${url ? 'API_KEY' : 'CONTROL_PLANE_URL'} is not set.`);
  return { url: url.replace(/\/$/, ''), headers: { 'x-api-key': key, ...(tenant && { 'x-tenant-id': tenant }) } };
}

/** The answer's body, or undefined when `missing` allows a 404. A server that is busy or away for a moment is asked again. */
export async function request(api, method, path, { body, missing = false } = {}) {
  // The same key in every try: a creation whose answer got lost is not made twice.
  const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {};
  const sent = { method, headers: { ...api.headers, 'content-type': 'application/json', ...key }, body: body && JSON.stringify(body) };
  for (let attempt = 1; ; attempt += 1) {
    const { ok, status, text } = await once(api.url + path, sent);
    if (ok) return text === '' ? undefined : JSON.parse(text);
    if (missing && status === 404) return undefined;
    if (!BUSY.includes(status) || attempt === TRIES) throw new Told(`${method} ${path} ${problem(status, text)}`);
    await wait(500 * 2 ** attempt);
  }
}

async function once(url, sent) {
  try {
    const response = await fetch(url, { ...sent, signal: AbortSignal.timeout(REQUEST_MILLISECONDS) });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (error) {
    return { ok: false, status: NO_ANSWER, text: error.cause?.message ?? error.message };
  }
}

function problem(status, text) {
  if (status === NO_ANSWER) return `got no answer: ${text}`;
  try {
    const { detail } = JSON.parse(text);
    const sentence = Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') : detail;
    return `was answered with ${status}: ${sentence}`;
  } catch {
    return `was answered with ${status}: ${text.slice(0, 500)}`;
  }
}

export async function findByName(api, name) {
  const { resources } = await request(api, 'GET', `/v2/deployments?name=${encodeURIComponent(name)}`);
  return resources[0];
}

/** Waits for the end of a deployment that is being deleted. */
export async function untilGone(api, { id, name }, { timeout, interval }) {
  const deadline = Date.now() + timeout * 1000;
  while ((await request(api, 'GET', `/v2/deployments/${id}`, { missing: true })) !== undefined) {
    if (Date.now() > deadline) throw new Told(`${name} is still being deleted after ${timeout} s.`);
    await wait(interval * 1000);
  }
}

/** Creates the deployment, or changes the one that is there. Secrets that are not given stay as they are. */
export async function createOrChange(api, { name, image, secrets, resources }, times) {
  const before = await findByName(api, name);
  const source_revision_config = { image_uri: image };
  if (before?.status === 'AWAITING_DELETE') await untilGone(api, before, times);
  else if (before !== undefined) {
    say(`PATCH /v2/deployments/${before.id}: ${name} gets ${image}`);
    const source_config = resources && { resource_spec: resources };
    return request(api, 'PATCH', `/v2/deployments/${before.id}`, { body: { source_revision_config, secrets, source_config } });
  }
  say(`POST /v2/deployments: ${name} from ${image}`);
  const source_config = { resource_spec: resources ?? {} };
  const body = { name, source: 'external_container', source_config, source_revision_config, secrets: secrets ?? [] };
  return request(api, 'POST', '/v2/deployments', { body });
}

/** Polls the newest revision until it serves, and gives the deployment. One that fails is told with its reason and its last log lines. */
export async function untilDeployed(api, { id, latest_revision_id: revisionId }, { timeout, interval }) {
  const path = `/v2/deployments/${id}`;
  const deadline = Date.now() + timeout * 1000;
  let last = '';
  for (;;) {
    const revision = await request(api, 'GET', `${path}/revisions/${revisionId}`);
    if (revision.status !== last) say(`  ${[revision.status, revision.status_message].filter(Boolean).join(': ')}`);
    last = revision.status;
    if (/FAILED|INTERRUPTED|SKIPPED/.test(last)) throw new Told(await failure(api, path, revision));
    if (last === 'DEPLOYED') {
      const deployment = await request(api, 'GET', path);
      // Between the two the traffic switches.
      if (deployment.active_revision_id === revisionId) return told(deployment);
      if (deployment.latest_revision_id !== revisionId) throw new Told('A newer revision took its place.');
    }
    if (Date.now() > deadline)
      throw new Told(`The revision is still ${last} after ${timeout} s. See ${api.url}${path}/revisions/${revisionId}`);
    await wait(interval * 1000);
  }
}

/** Why a revision did not get to serve, with the last words of its pods or of its build. */
async function failure(api, path, { id, status, reason, status_message: message, log_tail: tail }) {
  const type = status === 'BUILD_FAILED' ? 'build' : 'deploy';
  const page = tail
    ? undefined
    : await request(api, 'GET', `${path}/revisions/${id}/logs?type=${type}&order=desc&limit=30`).catch(() => undefined);
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

/** Says where the agent answers, and hands it to the next steps of a GitHub workflow. */
function told(deployment) {
  const outputs = { deployment_id: deployment.id, revision_id: deployment.active_revision_id, url: urlOf(deployment) ?? '' };
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

/** Runs a script to its end: 0, or 1 and a sentence. */
export async function main(work) {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Told ? error.message : error);
    process.exitCode = 1;
  }
}
