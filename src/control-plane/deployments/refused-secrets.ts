import { checkAgentEnvironment } from '../../config/agent/agent.ts';
import type { Secret } from '../../schema/platform/deployment/deployment.ts';
import { isReservedEnv } from '../../schema/platform/deployment/reserved-env.ts';
import type { Broken } from './rules.ts';

/**
 * Returns why the agent server would not start with these secrets, as the server itself says it. Each begins with the
 * path of the secret that it names.
 */
export function checkServerSecrets(secrets: readonly Secret[]): Broken[] {
  // An empty value counts as unset, and variables that the platform sets have their own rule.
  const given = secrets.filter(({ name, value }) => value !== '' && !isReservedEnv(name));
  const faults = checkAgentEnvironment(
    Object.fromEntries(given.map(({ name, value }) => [name, value])),
  );
  return [...checkHosts(secrets), ...faults.map((fault) => buildBroken(secrets, fault))];
}

const HOSTS: readonly string[] = ['GX_SERVER_HOST', 'LANGGRAPH_SERVER_HOST'];

/** Returns which secrets let a pod listen where neither its probes nor its Service reach it. */
const checkHosts = (secrets: readonly Secret[]): Broken[] =>
  secrets.flatMap(({ name, value }, index): Broken[] =>
    HOSTS.includes(name) && !['', '::', '0.0.0.0'].includes(value)
      ? [
          `secrets.${index}.value: ${name} must be :: (both families) or 0.0.0.0 (IPv4), because a pod is reached by its own address`,
        ]
      : [],
  );

function buildBroken(secrets: readonly Secret[], fault: string): Broken {
  const words = fault.split(/[^A-Za-z0-9_]+/);
  const at = secrets.findIndex(({ name }) => words.includes(name));
  return `${at < 0 ? 'secrets' : `secrets.${at}.value`}: the agent server would not start: ${fault}`;
}
