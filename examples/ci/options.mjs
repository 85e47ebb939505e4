import { readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Failure } from './api.mjs';

/** Options that both scripts take to deploy an image. */
export const DEPLOY_OPTIONS = {
  name: { type: 'string' },
  image: { type: 'string' },
  secret: { type: 'string', multiple: true },
  resources: { type: 'string' },
  timeout: { type: 'string', default: '900' },
  interval: { type: 'string', default: '2' },
  help: { type: 'boolean', default: false },
};

export const DEPLOY_HELP = `  --name NAME         name of the deployment
  --image IMAGE       what to deploy; with a digest (repository@sha256:...) it is what was tested
  --secret NAME       give the agent the environment variable NAME with the value that it has here; may be repeated.
                      Without any, the deployment keeps its secrets
  --resources FILE    JSON of the resource spec (cpu, memory_mb, min_scale ...)
  --timeout SECONDS   stop waiting after this time (900)
  --interval SECONDS  time between two requests (2)
  --help              print this text
Environment: CONTROL_PLANE_URL, API_KEY, and TENANT_ID for credentials of several tenants.
Exits with 0 when the new revision serves, and otherwise with 1, the reason and the last log lines.`;

/** Returns the parsed arguments. With --help it prints the help and returns undefined. */
export function parsed(options, help) {
  try {
    const given = parseArgs({ options, allowPositionals: true });
    if (!given.values.help) return given;
    console.log(help);
    return undefined;
  } catch (error) {
    throw new Failure(`${error.message}\n\n${help}`);
  }
}

export function required(values, ...names) {
  const missing = names.filter((name) => !values[name]).map((name) => `--${name}`);
  if (missing.length > 0)
    throw new Failure(
      `${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} not given; see --help.`,
    );
}

const seconds = (values, name) => {
  const value = Number(values[name]);
  if (!(value > 0)) throw new Failure(`--${name}: ${values[name]} is not a number of seconds.`);
  return value;
};

export const timesOf = (values) => ({
  timeout: seconds(values, 'timeout'),
  interval: seconds(values, 'interval'),
});

/** Returns what to deploy. */
export function wanted(values) {
  required(values, 'name', 'image');
  const secrets = values.secret?.map((name) => {
    const value = process.env[name];
    if (value === undefined)
      throw new Failure(`--secret ${name}: there is no environment variable of this name.`);
    return { name, value };
  });
  const resources =
    values.resources === undefined ? undefined : JSON.parse(readFileSync(values.resources, 'utf8'));
  return { name: values.name, image: values.image, secrets, resources };
}
