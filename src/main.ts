import process from 'node:process';
import { runCommand, withoutOptions, type CommandHelp, type RunCommand } from './commands.ts';
import { processEnv } from './config/env.ts';
import { createLog } from './log.ts';

const HELP = `gx-platform: run LangGraph agents on your own Kubernetes

Usage: node src/main.ts <command> [options]

  control-plane   the REST API that writes Deployment and Revision resources
  operator        the loop that turns those resources into workloads
  gateway         collects the agents' load reports, for the operator and for scalers
  console         the page for browsers, and the way from it to the REST API
  agent-server    the server of one deployment: assistants, threads, runs, streams
  agent-build     prepares an image for the agent server; run it when the image is built
  dev             the agent server alone with an embedded Postgres, reloading on change (gx dev)
  import-threads  copies threads from the tables of LangGraph's own Postgres saver into an agent server's database
  builder         the stages that make an agent's image from its git repository
  backup          sends the dump of a deployment's database to its target, or restores one
  api-key         create, list and revoke keys of the REST API
  uninstall       removes every deployment, so that the platform can be removed
  downgrade-check says which stored fields the definitions of another version would drop

Every command explains itself with --help. Settings come from the environment.
`;

const AGENT_BUILD: CommandHelp = {
  does: 'prepares an image for the agent server',
  usage: 'Run it when the image of an agent is built. It takes no options. GX_CONFIG names the graph configuration.',
};

/** Each command loads only its own product, so that an agent never loads the Kubernetes client. */
const commands: Record<string, RunCommand> = {
  'control-plane': withoutOptions(
    'control-plane',
    { does: 'the REST API that writes Deployment and Revision resources' },
    async (_args, signal) => {
      const [{ controlPlaneConfig }, { startControlPlane }, { connect }, { collectAtRest }] = await Promise.all([
        import('./config/control-plane.ts'),
        import('./control-plane/start.ts'),
        import('./kube/client.ts'),
        import('./at-rest.ts'),
      ]);
      collectAtRest();
      const config = controlPlaneConfig(processEnv());
      const log = createLog({ level: config.logLevel, process: 'control-plane' });
      const kube = await connect({ fieldManager: 'gx-control-plane', userAgent: 'gx-control-plane' });
      const keys = await connect({ fieldManager: 'gx-control-plane', userAgent: 'gx-control-plane/keys' });
      const logs = await connect({ fieldManager: 'gx-control-plane', userAgent: 'gx-control-plane/logs' });
      return startControlPlane({ config, kube, keys, logs, log, signal });
    },
  ),
  operator: withoutOptions(
    'operator',
    { does: 'the loop that turns Deployment and Revision resources into workloads' },
    async (_args, signal) => {
      const [{ operatorConfig }, { ownVersion }, { startOperator }, { watchHeap }, { requireSupportedJump }, { connect }] =
        await Promise.all([
          import('./config/operator.ts'),
          import('./config/own-version.ts'),
          import('./operator/start.ts'),
          import('./operator/heap.ts'),
          import('./operator/versions.ts'),
          import('./kube/client.ts'),
        ]);
      watchHeap();
      const config = operatorConfig(processEnv());
      const log = createLog({ level: config.logLevel, process: 'operator' });
      const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-operator' });
      await requireSupportedJump({ kube, config, log, own: ownVersion() }, signal);
      return startOperator({ config, kube, log, signal });
    },
  ),
  gateway: withoutOptions(
    'gateway',
    { does: "collects the agents' load reports, for the operator and for scalers" },
    async (_args, signal) => {
      const [{ gatewayConfig }, { startGateway }, { connect }, { collectAtRest }] = await Promise.all([
        import('./config/gateway.ts'),
        import('./gateway/start.ts'),
        import('./kube/client.ts'),
        import('./at-rest.ts'),
      ]);
      collectAtRest();
      const config = gatewayConfig(processEnv());
      const log = createLog({ level: config.logLevel, process: 'gateway' });
      const kube = await connect({ fieldManager: 'gx-gateway', userAgent: 'gx-gateway' });
      return startGateway({ config, kube, log, signal });
    },
  ),
  console: withoutOptions('console', { does: 'the page for browsers, and the way from it to the REST API' }, async (_args, signal) => {
    const [{ consoleConfig }, { startConsole }, { collectAtRest }] = await Promise.all([
      import('./config/console.ts'),
      import('./console/start.ts'),
      import('./at-rest.ts'),
    ]);
    collectAtRest();
    const config = consoleConfig(processEnv());
    return startConsole({ config, log: createLog({ level: config.logLevel, process: 'console' }), signal });
  }),
  'agent-server': async (args, signal) => {
    const [{ agentConfig, AGENT_SERVER_HELP }, { startAgentServer }, { agentLog }] = await Promise.all([
      import('./config/agent.ts'),
      import('./agent/process/start.ts'),
      import('./agent/tracing/agent-log.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(AGENT_SERVER_HELP);
    const config = agentConfig(processEnv(), args);
    return startAgentServer({ config, ...agentLog(config), signal });
  },
  'agent-build': withoutOptions('agent-build', AGENT_BUILD, async (_args, signal) => {
    const [{ agentBuildConfig }, { buildAgent }] = await Promise.all([
      import('./config/agent-build.ts'),
      import('./agent/process/build.ts'),
    ]);
    const config = agentBuildConfig(processEnv());
    await buildAgent(config, createLog({ level: config.logLevel, process: 'agent-build' }), signal);
  }),
  'import-threads': async (args, signal) => {
    const [{ importConfig, IMPORT_THREADS_HELP }, { importThreads }] = await Promise.all([
      import('./config/thread-import.ts'),
      import('./agent/imports/run.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(IMPORT_THREADS_HELP);
    const config = importConfig(processEnv(), args);
    const log = createLog({ level: config.logLevel, process: 'import-threads' });
    await importThreads({ config, log, signal, out: (line) => process.stdout.write(`${line}\n`) });
  },
  builder: async (args, signal) => {
    if (args[0] === 'local') {
      const { buildHere } = await import('./builder/local/run.ts');
      return buildHere(args.slice(1), processEnv(), signal);
    }
    const [{ imageBuildConfig }, { runBuilder }] = await Promise.all([import('./config/image-build.ts'), import('./builder/run.ts')]);
    return runBuilder(args, imageBuildConfig(processEnv()), signal);
  },
  backup: async (args, signal) => {
    const [{ backupJobConfig }, { runBackup, BACKUP_HELP }] = await Promise.all([
      import('./config/backup-job.ts'),
      import('./backup/run.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(BACKUP_HELP);
    if (args[0] === 'verify') {
      const [{ verifyJobConfig }, { runVerify }] = await Promise.all([import('./config/restore-job.ts'), import('./backup/verify.ts')]);
      return runVerify(verifyJobConfig(processEnv()), signal);
    }
    if (args[0] === 'restore' || args[0] === 'check') {
      const [{ restoreJobConfig }, { runCheck, runRestore }] = await Promise.all([
        import('./config/restore-job.ts'),
        import('./backup/restore.ts'),
      ]);
      return (args[0] === 'check' ? runCheck : runRestore)(restoreJobConfig(processEnv()), signal);
    }
    await runBackup(backupJobConfig(processEnv()), signal);
  },
  dev: async (args, signal) => {
    const { runDev } = await import('./agent/dev/run.ts');
    return runDev(args, signal);
  },
  'api-key': async (args) => {
    const [{ runApiKeyCommand, API_KEY_HELP }, { connect }, { controlPlaneConfig }] = await Promise.all([
      import('./control-plane/auth/command.ts'),
      import('./kube/client.ts'),
      import('./config/control-plane.ts'),
    ]);
    if (args.length === 0 || args.includes('--help') || args.includes('-h')) return void process.stdout.write(API_KEY_HELP);
    const kube = await connect({ fieldManager: 'gx-api-key', userAgent: 'gx-api-key' });
    await runApiKeyCommand(args, { kube, config: controlPlaneConfig(processEnv()), out: (line) => process.stdout.write(`${line}\n`) });
    await kube.close();
  },
  uninstall: async (args, signal) => {
    const [{ uninstallConfig, UNINSTALL_HELP }, { uninstall }, { connect }] = await Promise.all([
      import('./config/uninstall.ts'),
      import('./operator/uninstall/run.ts'),
      import('./kube/client.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(UNINSTALL_HELP);
    const config = uninstallConfig(processEnv(), args);
    const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-uninstall' });
    const log = createLog({ level: config.logLevel, process: 'uninstall' });
    await uninstall({ kube, config, env: processEnv(), log, signal, out: (line) => process.stdout.write(`${line}\n`) });
    await kube.close();
  },
  'downgrade-check': async (args, signal) => {
    const [{ downgradeCheckConfig, DOWNGRADE_CHECK_HELP }, { checkDowngrade }, { connect }] = await Promise.all([
      import('./config/downgrade-check.ts'),
      import('./operator/downgrade/run.ts'),
      import('./kube/client.ts'),
    ]);
    if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(DOWNGRADE_CHECK_HELP);
    const asked = await downgradeCheckConfig(processEnv(), args);
    const kube = await connect({ fieldManager: 'gx-operator', userAgent: 'gx-downgrade-check' });
    await checkDowngrade({ kube, ...asked, signal, out: (line) => process.stdout.write(`${line}\n`) });
    await kube.close();
  },
};

await runCommand({ help: HELP, commands }, process.argv.slice(2));
