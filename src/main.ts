import process from 'node:process';
import { processEnv } from './config/env.ts';
import { asError, StartError } from './errors.ts';
import { createLog } from './log.ts';

const HELP = `gx-platform: run LangGraph agents on your own Kubernetes

Usage: node src/main.ts <command> [options]

  control-plane   the REST API that writes Deployment and Revision resources
  operator        the loop that turns those resources into workloads
  agent-server    the server of one deployment: assistants, threads, runs, streams
  agent-build     what the agent server needs and an image need not keep: run it when the image is built
  dev             the agent server alone with an embedded Postgres, reloading on change
  api-key         create, list and revoke keys of the REST API

Every command explains itself with --help. Settings come from the environment.
`;

/** `ended` settles when the process has lost what it needs to go on. */
type Running = { stop(): Promise<void>; ended?: Promise<'stopped' | 'lost'> };
type Command = (args: string[], signal: AbortSignal) => Promise<Running | void>;

/** Each command loads only its own product, so that an agent never loads the Kubernetes client. */
const COMMANDS: Record<string, Command> = {
  'control-plane': async (_args, signal) => {
    const [{ controlPlaneConfig }, { startControlPlane }, { connect }] = await Promise.all([
      import('./config/control-plane.ts'),
      import('./control-plane/start.ts'),
      import('./kube/client.ts'),
    ]);
    const config = controlPlaneConfig(processEnv());
    const log = createLog({ level: config.logLevel, process: 'control-plane' });
    const kube = await connect({ fieldManager: 'gx-control-plane', userAgent: 'gx-control-plane' });
    return startControlPlane({ config, kube, log, signal });
  },
  operator: async (_args, signal) => {
    const [{ operatorConfig }, { startOperator }, { watchHeap }, { connect }] = await Promise.all([
      import('./config/operator.ts'),
      import('./operator/start.ts'),
      import('./operator/heap.ts'),
      import('./kube/client.ts'),
    ]);
    watchHeap();
    const config = operatorConfig(processEnv());
    const log = createLog({ level: config.logLevel, process: 'operator' });
    const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-operator' });
    return startOperator({ config, kube, log, signal });
  },
  'agent-server': async (args, signal) => {
    const [{ agentConfig }, { startAgentServer }] = await Promise.all([import('./config/agent.ts'), import('./agent/start.ts')]);
    const config = agentConfig(processEnv(), args);
    const log = createLog({ level: config.logLevel, process: 'agent-server' });
    return startAgentServer({ config, log, signal });
  },
  'agent-build': async (_args, signal) => {
    const [{ agentBuildConfig }, { buildAgent }] = await Promise.all([import('./config/agent-build.ts'), import('./agent/build.ts')]);
    const config = agentBuildConfig(processEnv());
    await buildAgent(config, createLog({ level: config.logLevel, process: 'agent-build' }), signal);
  },
  dev: async (args, signal) => {
    const { runDev } = await import('./agent/dev/run.ts');
    return runDev(args, signal);
  },
  'api-key': async (args) => {
    const [{ runApiKeyCommand }, { connect }, { controlPlaneConfig }] = await Promise.all([
      import('./control-plane/auth/command.ts'),
      import('./kube/client.ts'),
      import('./config/control-plane.ts'),
    ]);
    const kube = await connect({ fieldManager: 'gx-api-key', userAgent: 'gx-api-key' });
    await runApiKeyCommand(args, { kube, config: controlPlaneConfig(processEnv()), out: (line) => process.stdout.write(`${line}\n`) });
    await kube.close();
  },
};

/**
 * Runs one command until SIGTERM or SIGINT. The exit code is 0 after a graceful stop, and one of `EXIT` when the start
 * failed.
 */
async function main(args: string[]): Promise<void> {
  const [name = '--help', ...rest] = args;
  if (['--help', '-h', 'help'].includes(name)) {
    process.stdout.write(HELP);
    return;
  }
  const command = COMMANDS[name];
  if (command === undefined) throw new StartError(`"${name}" is not a command; known: ${Object.keys(COMMANDS).join(', ')}.`);
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve());
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort(signal));
  const running = await command(rest, stopping.signal).catch((error: unknown) => {
    // The start was told to stop, and did.
    if (!stopping.signal.aborted || error !== stopping.signal.reason) throw error;
    setTimeout(leave, LINGER_MILLISECONDS).unref();
  });
  if (running === undefined) return;
  const end = await Promise.race([stopped, ...(running.ended === undefined ? [] : [running.ended])]);
  await running.stop();
  if (end === 'lost') process.exitCode = 1;
  setTimeout(leave, LINGER_MILLISECONDS).unref();
}

/**
 * Everything is closed by then. What still holds the process, such as a socket to a lost host, must not keep its pod.
 */
const LINGER_MILLISECONDS = 2000;
const leave = (): never => process.exit();

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  const error = asError(thrown);
  process.stderr.write(error instanceof StartError ? `${error.message}\n` : `${error.stack ?? error.message}\n`);
  process.exitCode = error instanceof StartError ? error.exitCode : 1;
}
