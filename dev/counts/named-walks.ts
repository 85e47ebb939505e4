import { globSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { WalkedSources, type WalkStart } from './walks.ts';

type NamedWalk = WalkStart & { title: string };

const WALKS: NamedWalk[] = [
  {
    title: 'a run, from the request to its row',
    file: 'src/agent/routes/run-answers.ts',
    name: 'answerStream',
    parameter: 'deps',
    until: 'insertRun',
  },
  {
    title: 'a run, from the request to its stream',
    file: 'src/agent/routes/run-answers.ts',
    name: 'answerStream',
    parameter: 'deps',
  },
  {
    title: 'the runs of crons that are due',
    file: 'src/agent/crons/fire.ts',
    name: 'runDueCrons',
    parameter: 'deps',
  },
  {
    title: 'the row of a run, until a worker has it',
    file: 'src/agent/runs/making/insert.ts',
    name: 'insertRun',
    parameter: 'run',
  },
  {
    title: 'the body of a deployment, from the request to its object',
    file: 'src/control-plane/deployments/create.ts',
    name: 'createDeployment',
    parameter: 'body',
  },
  {
    title: 'a deployment, through the facts of its reconcile',
    file: 'src/operator/deployment/facts.ts',
    name: 'observeFacts',
    parameter: 'deployment',
  },
  {
    title: 'a deployment, to the share of a rollout',
    file: 'src/operator/deployment/shares.ts',
    name: 'decideShare',
    parameter: 'deployment',
  },
  {
    title: 'a deployment, to its next backup',
    file: 'src/operator/backup/plan.ts',
    name: 'planBackup',
    parameter: 'deployment',
  },
  {
    title: 'a revision, to its workloads',
    file: 'src/operator/revision/desired.ts',
    name: 'buildRevisionWorkloads',
    parameter: 'revision',
  },
  {
    title: 'a request of the console, to an agent',
    file: 'src/console/passing/agents.ts',
    name: 'answerFromAgent',
    parameter: 'ctx',
  },
];

const PAGE = 'docs/architecture.md';

/** Returns the lines of the table in the page. */
function buildTable(sources: WalkedSources): string[] {
  return WALKS.map((start, at) => {
    const { stays } = sources.walk(start);
    const { file, name, parameter, title } = start;
    return `| ${at + 1} | ${title} | \`${parameter}\` of \`${name}\` in \`${file}\` | ${stays.length} | ${new Set(stays).size} |`;
  });
}

/**
 * Prints the walks that docs/architecture.md names, and the stays of each: how often a reader who follows one value
 * opens another file. With the number of a walk it prints the files of that walk, in their order.
 */
export function printWalks(wanted: string | undefined): void {
  const files = globSync('src/**/*.ts', { exclude: ['src/console/page/**'] });
  const sources = new WalkedSources('.', files);
  const chosen = WALKS[Number(wanted) - 1];
  if (chosen !== undefined) {
    process.stdout.write(`${sources.walk(chosen).stays.join('\n')}\n`);
    return;
  }
  const page = readFileSync(PAGE, 'utf8');
  for (const line of buildTable(sources))
    process.stdout.write(`${line}${page.includes(line) ? '' : `   ${PAGE} has another line`}\n`);
}
