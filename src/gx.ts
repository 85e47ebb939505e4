#!/usr/bin/env node
import process from 'node:process';
import { runCommand, type RunCommand } from './commands.ts';
import { StartError } from './errors.ts';

const HELP = `gx: write a LangGraph agent, and run it on this machine

Usage: gx <command> [options]

  new [folder]   write a small example agent, in TypeScript or in Python
  dev            serve the agent of gx.json, with a Postgres of its own and a studio, reloading on change

"gx <command> --help" explains the command; "gx --version" prints the version.
`;

/** The lowest Node that the packages of package.json allow; its `engines` say the same. */
const LOWEST_NODE = [22, 15] as const;

function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [lowestMajor, lowestMinor] = LOWEST_NODE;
  if (major < lowestMajor || (major === lowestMajor && minor < lowestMinor))
    throw new StartError(
      `gx needs Node ${LOWEST_NODE.join('.')} or newer, and this is Node ${version}.`,
    );
}

/** Loads each command only when it is called, so that its help appears at once. */
const commands: Record<string, RunCommand> = {
  new: async (args) => {
    refuseOldNode(process.versions.node);
    const { runNew } = await import('./agent/dev/new-project/write.ts');
    runNew(args);
  },
  dev: async (args, signal) => {
    refuseOldNode(process.versions.node);
    const { runDev } = await import('./agent/dev/run.ts');
    return runDev(args, signal);
  },
};

async function printVersion(): Promise<void> {
  const { readVersions } = await import('./agent/kernel/versions.ts');
  process.stdout.write(`${readVersions().version}\n`);
}

const args = process.argv.slice(2);
await (['--version', '-v'].includes(args[0] ?? '')
  ? printVersion()
  : runCommand({ help: HELP, commands }, args));
