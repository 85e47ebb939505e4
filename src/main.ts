import process from 'node:process';
import { runCommand, buildPlainCommand, type CommandHelp, type RunCommand } from './commands.ts';
import { readProcessEnv } from './config/env.ts';
import { createLog } from './log.ts';

const HELP = `gx-platform: run LangGraph agents on your own Kubernetes

Usage: node src/main.ts <command> [options]

  control-plane   the REST API that writes Deployment and Revision resources
  operator        the loop that turns those resources into workloads
  gateway         collects the agents' load reports, for the operator and for scalers
  console         the web console, with its proxy to the REST API and to agents
  agent-server    the server of one deployment: assistants, threads, runs, streams
  agent-build     prepares an image for the agent server; run it when the image is built
  dev             the agent server alone with an embedded Postgres, reloading on change (gx dev)
  import-threads  copies threads from the tables of LangGraph's own Postgres saver into an agent server's database
  reprice-usage   prices recorded calls of models again, by the prices of today
  builder         the stages that make an agent's image from its git repository
  backup          sends the dump of a deployment's database to its target, or restores one
  api-key         create, list and revoke keys of the REST API
  uninstall       removes every deployment, so that the platform can be removed
  downgrade-check says which stored fields the definitions of another version would drop

Every command explains itself with --help. Settings come from the environment.
`;

const AGENT_BUILD: CommandHelp = {
  does: 'prepares an image for the agent server',
  usage:
    'Run it when the image of an agent is built. It takes no options. GX_CONFIG names the graph configuration.',
};

/** Each command loads only its own product, so that an agent never loads the Kubernetes client. */
const commands: Record<string, RunCommand> = {
  'control-plane': buildPlainCommand(
    'control-plane',
    { does: 'the REST API that writes Deployment and Revision resources' },
    async (_args, signal) => {
      const [{ readControlPlaneConfig }, { startControlPlane }, { connect }, { collectAtRest }] =
        await Promise.all([
          import('./config/platform/control-plane.ts'),
          import('./control-plane/start.ts'),
          import('./kube/client.ts'),
          import('./at-rest.ts'),
        ]);
      collectAtRest();
      const config = readControlPlaneConfig(readProcessEnv());
      const log = createLog({ level: config.logLevel, process: 'control-plane' });
      const kube = await connect({
        fieldManager: 'gx-control-plane',
        userAgent: 'gx-control-plane',
      });
      const keys = await connect({
        fieldManager: 'gx-control-plane',
        userAgent: 'gx-control-plane/keys',
      });
      const logs = await connect({
        fieldManager: 'gx-control-plane',
        userAgent: 'gx-control-plane/logs',
      });
      return startControlPlane({ config, kube, keys, logs, log, signal });
    },
  ),
  operator: buildPlainCommand(
    'operator',
    { does: 'the loop that turns Deployment and Revision resources into workloads' },
    async (_args, signal) => {
      const [
        { readOperatorConfig },
        { readPlatformVersion },
        { startOperator },
        { watchHeap },
        { requireSupportedJump },
        { connect },
      ] = await Promise.all([
        import('./config/platform/operator.ts'),
        import('./config/own-version.ts'),
        import('./operator/start.ts'),
        import('./operator/heap.ts'),
        import('./operator/versions.ts'),
        import('./kube/client.ts'),
      ]);
      watchHeap();
      const config = readOperatorConfig(readProcessEnv());
      const log = createLog({ level: config.logLevel, process: 'operator' });
      const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-operator' });
      await requireSupportedJump({ kube, config, log, own: readPlatformVersion() }, signal);
      return startOperator({ config, kube, log, signal });
    },
  ),
  gateway: buildPlainCommand(
    'gateway',
    { does: "collects the agents' load reports, for the operator and for scalers" },
    async (_args, signal) => {
      const [{ readGatewayConfig }, { startGateway }, { connect }, { collectAtRest }] =
        await Promise.all([
          import('./config/platform/gateway.ts'),
          import('./gateway/start.ts'),
          import('./kube/client.ts'),
          import('./at-rest.ts'),
        ]);
      collectAtRest();
      const config = readGatewayConfig(readProcessEnv());
      const log = createLog({ level: config.logLevel, process: 'gateway' });
      const kube = await connect({ fieldManager: 'gx-gateway', userAgent: 'gx-gateway' });
      return startGateway({ config, kube, log, signal });
    },
  ),
  console: buildPlainCommand(
    'console',
    { does: 'the web console, with its proxy to the REST API and to agents' },
    async (_args, signal) => {
      const [{ readConsoleConfig }, { startConsole }, { collectAtRest }] = await Promise.all([
        import('./config/platform/console.ts'),
        import('./console/start.ts'),
        import('./at-rest.ts'),
      ]);
      collectAtRest();
      const config = readConsoleConfig(readProcessEnv());
      return startConsole({
        config,
        log: createLog({ level: config.logLevel, process: 'console' }),
        signal,
      });
    },
  ),
  'agent-server': async (args, signal) => {
    const [{ readAgentConfig, AGENT_SERVER_HELP }, { startAgentServer }, { createAgentLog }] =
      await Promise.all([
        import('./config/agent/agent.ts'),
        import('./agent/process/start.ts'),
        import('./agent/tracing/agent-log.ts'),
      ]);
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(AGENT_SERVER_HELP);
    const config = readAgentConfig(readProcessEnv(), args);
    return startAgentServer({ config, ...createAgentLog(config), signal });
  },
  'agent-build': buildPlainCommand('agent-build', AGENT_BUILD, async (_args, signal) => {
    const [{ readAgentBuildConfig }, { buildAgent }] = await Promise.all([
      import('./config/agent/agent-build.ts'),
      import('./agent/process/build.ts'),
    ]);
    const config = readAgentBuildConfig(readProcessEnv());
    await buildAgent(config, createLog({ level: config.logLevel, process: 'agent-build' }), signal);
  }),
  'import-threads': async (args, signal) => {
    const [{ importConfig, IMPORT_THREADS_HELP }, { importThreads }] = await Promise.all([
      import('./config/agent/thread-import.ts'),
      import('./agent/imports/run.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(IMPORT_THREADS_HELP);
    const config = importConfig(readProcessEnv(), args);
    const log = createLog({ level: config.logLevel, process: 'import-threads' });
    await importThreads({ config, log, signal, out: (line) => process.stdout.write(`${line}\n`) });
  },
  'reprice-usage': async (args, signal) => {
    const [{ repriceConfig, REPRICE_HELP }, { repriceUsage }] = await Promise.all([
      import('./config/agent/usage-reprice.ts'),
      import('./agent/usage/reprice.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(REPRICE_HELP);
    const config = repriceConfig(readProcessEnv(), args);
    const log = createLog({ level: config.logLevel, process: 'reprice-usage' });
    await repriceUsage({ config, log, signal, out: (line) => process.stdout.write(`${line}\n`) });
  },
  builder: async (args, signal) => {
    if (args[0] === 'local') {
      const { buildHere } = await import('./builder/local/run.ts');
      return buildHere(args.slice(1), readProcessEnv(), signal);
    }
    const [{ readImageBuildConfig }, { runBuilder }] = await Promise.all([
      import('./config/jobs/image-build.ts'),
      import('./builder/run.ts'),
    ]);
    return runBuilder(args, readImageBuildConfig(readProcessEnv()), signal);
  },
  backup: async (args, signal) => {
    const [{ backupJobConfig }, { runBackup, BACKUP_HELP }] = await Promise.all([
      import('./config/jobs/backup-job.ts'),
      import('./backup/run.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(BACKUP_HELP);
    if (args[0] === 'verify') {
      const [{ verifyJobConfig }, { runVerify }] = await Promise.all([
        import('./config/jobs/restore-job.ts'),
        import('./backup/verify.ts'),
      ]);
      return runVerify(verifyJobConfig(readProcessEnv()), signal);
    }
    if (args[0] === 'restore' || args[0] === 'check') {
      const [{ restoreJobConfig }, { runCheck, runRestore }] = await Promise.all([
        import('./config/jobs/restore-job.ts'),
        import('./backup/restore.ts'),
      ]);
      return (args[0] === 'check' ? runCheck : runRestore)(
        restoreJobConfig(readProcessEnv()),
        signal,
      );
    }
    await runBackup(backupJobConfig(readProcessEnv()), signal);
  },
  dev: async (args, signal) => {
    const { runDev } = await import('./agent/dev/run.ts');
    return runDev(args, signal);
  },
  'api-key': async (args) => {
    const [{ runApiKeyCommand, API_KEY_HELP }, { connect }, { readControlPlaneConfig }] =
      await Promise.all([
        import('./control-plane/auth/command.ts'),
        import('./kube/client.ts'),
        import('./config/platform/control-plane.ts'),
      ]);
    if (args.length === 0 || args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(API_KEY_HELP);
    const kube = await connect({ fieldManager: 'gx-api-key', userAgent: 'gx-api-key' });
    await runApiKeyCommand(args, {
      kube,
      config: readControlPlaneConfig(readProcessEnv()),
      out: (line) => process.stdout.write(`${line}\n`),
    });
    await kube.close();
  },
  uninstall: async (args, signal) => {
    const [{ readUninstallConfig, UNINSTALL_HELP }, { runUninstall }, { connect }] =
      await Promise.all([
        import('./config/platform/uninstall.ts'),
        import('./operator/uninstall/run.ts'),
        import('./kube/client.ts'),
      ]);
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(UNINSTALL_HELP);
    const config = readUninstallConfig(readProcessEnv(), args);
    const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-uninstall' });
    const log = createLog({ level: config.logLevel, process: 'uninstall' });
    await runUninstall({
      kube,
      config,
      env: readProcessEnv(),
      log,
      signal,
      out: (line) => process.stdout.write(`${line}\n`),
    });
    await kube.close();
  },
  'downgrade-check': async (args, signal) => {
    const [{ readDowngradeCheckConfig, DOWNGRADE_CHECK_HELP }, { checkDowngrade }, { connect }] =
      await Promise.all([
        import('./config/platform/downgrade-check.ts'),
        import('./operator/downgrade/run.ts'),
        import('./kube/client.ts'),
      ]);
    if (args.includes('--help') || args.includes('-h'))
      return void process.stdout.write(DOWNGRADE_CHECK_HELP);
    const asked = await readDowngradeCheckConfig(readProcessEnv(), args);
    const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-downgrade-check' });
    await checkDowngrade({
      kube,
      ...asked,
      signal,
      out: (line) => process.stdout.write(`${line}\n`),
    });
    await kube.close();
  },
};

await runCommand({ help: HELP, commands }, process.argv.slice(2));
