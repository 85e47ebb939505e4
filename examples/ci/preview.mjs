#!/usr/bin/env node
import process from 'node:process';
import {
  apiFromEnvironment,
  createOrChange,
  findByName,
  main,
  request,
  say,
  Failure,
  untilDeployed,
  untilGone,
  urlOf,
} from './api.mjs';
import { DEPLOY_HELP, DEPLOY_OPTIONS, parsed, required, timesOf, wanted } from './options.mjs';

const HELP = `Gives a pull request a deployment of its own: creates or updates it, tries it, and deletes it with all its data.
  node preview.mjs up   --name NAME --pr NUMBER --image IMAGE [--secret NAME]... [--clone NAME]
  node preview.mjs run  --name NAME --pr NUMBER --assistant GRAPH --input TEXT
  node preview.mjs down --name NAME --pr NUMBER

  --pr NUMBER         the deployment's name is NAME-pr-NUMBER
  --clone NAME        a new preview begins with a copy of the data of this deployment, in which nothing runs by itself
  --assistant GRAPH   the graph that run calls
  --input TEXT        the message to send; the last message of the answer is printed
${DEPLOY_HELP}
AGENT_URL replaces the deployment's own URL if that can't be reached from here.`;

/** Longest name of a deployment. */
const LONGEST = 63;

const OPTIONS = {
  ...DEPLOY_OPTIONS,
  pr: { type: 'string' },
  clone: { type: 'string' },
  assistant: { type: 'string' },
  input: { type: 'string' },
};

/** Shortens a name that is too long, but keeps the number. */
function nameOf({ name, pr }) {
  if (!/^\d+$/.test(pr)) throw new Failure(`--pr: ${pr} is not the number of a pull request.`);
  const suffix = `-pr-${pr}`;
  return name.slice(0, LONGEST - suffix.length).replace(/-+$/, '') + suffix;
}

async function up(api, values) {
  const [what, times] = [
    { ...wanted(values), name: nameOf(values), cloneOf: values.clone },
    timesOf(values),
  ];
  await untilDeployed(api, await createOrChange(api, what, times), times);
}

/** Executes one run without a thread, at the deployment's own address. */
async function run(api, values) {
  required(values, 'assistant', 'input');
  const name = nameOf(values);
  const deployment = await findByName(api, name);
  if (deployment === undefined) throw new Failure(`There is no deployment ${name}.`);
  const url = process.env.AGENT_URL ?? urlOf(deployment);
  if (!url) throw new Failure(`${name} has no URL; set AGENT_URL.`);
  const input = { messages: [{ role: 'human', content: values.input }] };
  const body = JSON.stringify({ assistant_id: values.assistant, input });
  const signal = AbortSignal.timeout(timesOf(values).timeout * 1000);
  const { api_key: key } = await request(api, 'GET', `/v2/deployments/${deployment.id}/key`);
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const response = await fetch(`${url}/runs/wait`, { method: 'POST', headers, body, signal }).catch(
    (error) => {
      throw new Failure(`${url} does not answer: ${error.cause?.message ?? error.message}`);
    },
  );
  const text = await response.text();
  const state = response.ok ? JSON.parse(text) : undefined;
  if (state === undefined || state?.__error__)
    throw new Failure(`The run failed (${response.status}): ${text.trim().slice(0, 2000)}`);
  say(`${values.assistant}: ${JSON.stringify(state.messages?.at(-1)?.content ?? state)}`);
}

/** Deletes the deployment. A deployment that is already gone is no failure, so the step may be repeated. */
async function down(api, values) {
  const name = nameOf(values);
  const deployment = await findByName(api, name);
  if (deployment === undefined) return say(`There is no deployment ${name}.`);
  await request(
    api,
    'DELETE',
    `/v2/deployments/${deployment.id}?delete_tracing_project=true&delete_data=true`,
    { missing: true },
  );
  await untilGone(api, deployment, timesOf(values));
  say(`${name} is gone.`);
}

const COMMANDS = { up, run, down };

await main(async () => {
  const given = parsed(OPTIONS, HELP);
  if (given === undefined) return;
  const work = COMMANDS[given.positionals[0]];
  if (work === undefined) throw new Failure(`Say up, run or down.\n\n${HELP}`);
  required(given.values, 'name', 'pr');
  await work(apiFromEnvironment(), given.values);
});
