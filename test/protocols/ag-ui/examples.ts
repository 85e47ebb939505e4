import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { HttpAgent, type RunAgentParameters } from '@ag-ui/client';
import { UsageError } from '../../../dev/errors.ts';
import { formatSecondsSince, printLine, runMain } from '../../../dev/steps.ts';
import { installTools, installUv, TOOLS } from '../../kit/build-stages.ts';
import { startDev, type DevServer } from '../../kit/dev-server.ts';
import { readEvents, type Event } from '../../agent/ag-ui/kit.ts';
import { showMessage, showStateMessage } from '../../agent/ag-ui/plays/play.ts';
import { planInstall, runCommand, type Command } from '../../projects/install.ts';
import { startModels } from '../../projects/model-stand-in.ts';

/*
 * The LangGraph examples of AG-UI's own repository, unchanged, by `gx dev` and HttpAgent: each is driven through the
 * feature that it shows. Their folder is an argument, because nothing of them is a part of this checkout.
 */

const HELP = `examples: drives the LangGraph examples of AG-UI's repository through what each shows

Usage: node test/protocols/ag-ui/examples.ts [options] <folder>

<folder> is integrations/langgraph of a clone of ag-ui-protocol/ag-ui, with python/examples and typescript/examples. Both are
copied, their packages are installed by their own files, and a stand-in on this machine answers in place of OpenAI.

  --keep FOLDER           copies and packages stay there, and are used again
  --only NAME             only this example, in both languages
  --package NAME=VERSION  installs this version of an npm package instead of the one that package.json names; may be repeated

It runs the code of the examples, so name only what you trust.
`;

/** What a page does with an example, and what it must see. */
type Play = {
  state?: object;
  /** The tools that the page has; the model calls the first one. */
  tools?: string[];
  /** Returns the answer to a question by its value. */
  answer?: (value: Record<string, unknown>) => unknown;
  /** Kinds of events that must come, by what is counted of them. */
  sees: Partial<
    Record<
      'call' | 'result' | 'pending' | 'question' | 'prediction' | 'state' | 'thought' | 'text',
      number
    >
  >;
};

/** By the names of the examples' folders. An answer is given in the form of the example's own page. */
const PLAYS: Record<string, Play> = {
  agentic_chat: { tools: ['change_background'], sees: { call: 1, pending: 1, text: 1 } },
  agentic_chat_multimodal: { sees: { text: 1 } },
  multimodal_messages: { sees: { text: 1 } },
  agentic_chat_reasoning: { sees: { thought: 1, text: 1 } },
  agentic_generative_ui: { sees: { prediction: 1, call: 1, state: 2, text: 1 } },
  backend_tool_rendering: { sees: { text: 1 } },
  human_in_the_loop: {
    answer: () => 'I approve.',
    sees: { prediction: 1, call: 1, question: 1, state: 1, text: 1 },
  },
  predictive_state_updates: { sees: { prediction: 1, call: 2, pending: 1, state: 1 } },
  shared_state: {
    state: { recipe: { skill_level: 'Advanced', ingredients: [], instructions: ['Stir.'] } },
    sees: { prediction: 1, call: 1, state: 1, text: 1 },
  },
  subgraphs: {
    answer: ({ options }) => JSON.stringify((options as unknown[])[0]),
    sees: { question: 2, state: 2, text: 2 },
  },
  tool_based_generative_ui: { tools: ['generate_haiku'], sees: { call: 1, pending: 1, text: 1 } },
  a2ui_dynamic_schema: { sees: { call: 1, result: 1, text: 1 } },
  a2ui_fixed_schema: { sees: { call: 1, result: 1, text: 1 } },
  a2ui_recovery: { sees: { call: 1, result: 1, text: 1 } },
};

/** The supervisor of the travel agents chooses as its instructions say: an agent that has found nothing yet. */
function script(tool: string, system: string): object | undefined {
  if (tool !== 'SupervisorResponseFormatter' && tool !== 'supervisor_response') return undefined;
  const [, missing] = /- (Flights|Hotels|Experiences) found: (?:False|false)/.exec(system) ?? [];
  const next = missing === undefined ? null : `${missing.toLowerCase()}_agent`;
  return { answer: 'On my way.', next_agent: next };
}

/** Examples that fail by themselves, called in a plain Python, with words of their failure and its cause. */
const OWN_FAULTS: Record<string, string> = {
  // It shares a client of OpenAI between two event loops.
  'python/a2ui_dynamic_schema': 'is bound to a different event loop',
};

/** One line of the table. */
type Row = {
  example: string;
  runs: number;
  events: number;
  sees: string;
  fault: string;
  isFaulty: boolean;
};

const addToEach = (counts: Record<string, number>, event: Event): void => {
  const add = (kind: string, count = 1): void => void (counts[kind] = (counts[kind] ?? 0) + count);
  const { type, name, outcome } = event as Event & {
    outcome?: { interrupts?: unknown[]; pendingToolCallIds?: unknown[] };
  };
  if (type === 'TOOL_CALL_START') add('call');
  if (type === 'TOOL_CALL_RESULT') add('result');
  if (type === 'STATE_SNAPSHOT' || type === 'STATE_DELTA') add('state');
  if (type === 'TEXT_MESSAGE_START') add('text');
  if (type === 'REASONING_MESSAGE_START') add('thought');
  if (type === 'CUSTOM' && name === 'PredictState') add('prediction');
  add('question', outcome?.interrupts?.length ?? 0);
  add('pending', outcome?.pendingToolCallIds?.length ?? 0);
};

/** Runs that a turn takes at most. */
const MAX_RUNS = 8;

/** Plays an example: two turns of its page, and a page that is loaded again. Throws for the first fault. */
async function play(url: string, graph: string, row: Row): Promise<void> {
  const { state = {}, tools = [], answer, sees } = PLAYS[graph]!;
  const threadId = randomUUID();
  const texts: Promise<string>[] = [];
  const open = (path: string, initialState: object): HttpAgent =>
    new HttpAgent({
      url: `${url}/ag-ui/${graph}${path}`,
      threadId,
      initialState,
      fetch: async (address, given) => {
        const reply = await fetch(address, given);
        texts.push(reply.clone().text());
        return reply;
      },
    });
  const page = open('', state);
  const counts: Record<string, number> = {};
  const hear = async (client: HttpAgent, given: RunAgentParameters): Promise<Event> => {
    const of = { description: 'Of the page.', parameters: { type: 'object', properties: {} } };
    await client.runAgent({ tools: tools.map((name) => ({ name, ...of })), ...given });
    row.runs += 1;
    const events = readEvents(await texts.at(-1)!);
    row.events += events.length;
    for (const event of events) addToEach(counts, event);
    await checkView(url, client);
    return events.at(-1)!;
  };
  for (const content of ['Tell me about the sea', 'And about the sky']) {
    page.addMessage({ id: randomUUID(), role: 'user', content });
    let given: RunAgentParameters | undefined = {};
    for (let left = MAX_RUNS; given !== undefined && left > 0; left -= 1)
      given = goOn(page, await hear(page, given), answer);
  }
  await hear(open('/connect', {}), {});
  row.sees = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${kind} ${count}`)
    .join(', ');
  const missing = Object.entries(sees).filter(([kind, count]) => (counts[kind] ?? 0) < count);
  if (missing.length > 0)
    throw new Error(`comes too rarely: ${missing.map(([kind]) => kind).join()}`);
}

/** Returns what the page says next: answers to questions and to its own calls. Throws for a run that failed. */
function goOn(
  page: HttpAgent,
  last: Event,
  answer: Play['answer'],
): RunAgentParameters | undefined {
  if (last.type !== 'RUN_FINISHED') throw new Error(`it ends with ${JSON.stringify(last)}`);
  const { interrupts, pendingToolCallIds: pending = [] } = last['outcome'] as {
    interrupts?: { id: string; metadata: { langgraph: { raw: Record<string, unknown> } } }[];
    pendingToolCallIds?: string[];
  };
  if (interrupts !== undefined)
    return {
      resume: interrupts.map(({ id, metadata }) => ({
        interruptId: id,
        status: 'resolved',
        payload: answer!(metadata.langgraph.raw),
      })),
    };
  if (pending.length === 0) return undefined;
  for (const toolCallId of pending)
    page.addMessage({ id: randomUUID(), role: 'tool', toolCallId, content: 'Done by the page.' });
  return {};
}

const OF_DOORS = ['messages', 'tools', 'copilotkit', 'ag-ui'];

/** Throws unless the page shows what the thread holds. */
async function checkView(url: string, page: HttpAgent): Promise<void> {
  type Values = { messages?: Parameters<typeof showStateMessage>[0][] } & Record<string, unknown>;
  const reply = await fetch(`${url}/threads/${page.threadId}/state`);
  const { values } = (await reply.json()) as { values: Values };
  const shown = page.messages
    .filter(({ role }) => role !== 'reasoning' && role !== 'activity')
    .map((message) => showMessage(message as Parameters<typeof showMessage>[0]));
  const held = (values.messages ?? []).map(showStateMessage);
  if (!isDeepStrictEqual(shown, held))
    throw new Error(`shows ${JSON.stringify(shown)}, and the thread has ${JSON.stringify(held)}`);
  const ofPage = Object.fromEntries(
    Object.entries(values).filter(([name]) => !OF_DOORS.includes(name)),
  );
  if (!isDeepStrictEqual(page.state, ofPage))
    throw new Error(
      `state ${JSON.stringify(page.state)}, and of the thread ${JSON.stringify(ofPage)}`,
    );
}

/** Writes a langgraph.json that names all agents of the folder, also those that the example's own leaves out. */
function nameAll(folder: string): string[] {
  const file = join(folder, 'langgraph.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { graphs: Record<string, string> };
  for (const path of globSync('{agents,src/agents}/*/agent.{py,ts}', { cwd: folder })) {
    const name = path.split('/').at(-2)!;
    const source = readFileSync(join(folder, path), 'utf8');
    const exported = /export const (\w+Graph) = /.exec(source)?.[1] ?? 'graph';
    config.graphs[name] ??= `./${path}:${exported}`;
  }
  writeFileSync(join(folder, 'all.json'), JSON.stringify(config));
  if (!existsSync(join(folder, '.env'))) writeFileSync(join(folder, '.env'), '');
  return Object.keys(config.graphs).toSorted();
}

/** Python's lock file has LangGraph 1.1, which has no event streaming: the newest packages that the project allows. */
function planPackages(
  folder: string,
  language: string,
  packages: Record<string, string>,
): Command[] {
  const uv = installUv();
  if (language === 'typescript' && Object.keys(packages).length === 0) {
    installTools();
    return planInstall({ root: folder, config: 'all.json' }, { tools: TOOLS, uv });
  }
  if (language === 'typescript') {
    const file = join(folder, 'package.json');
    const list = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: object };
    Object.assign(list.dependencies, packages);
    writeFileSync(file, JSON.stringify(list));
    // The lock of pnpm is of the other versions.
    return [{ run: ['npm', 'install', '--legacy-peer-deps', '--ignore-scripts'], folder }];
  }
  return [
    { run: [uv, 'venv', '--quiet', '.venv'], folder },
    { run: [uv, 'pip', 'install', '--quiet', '-e', '.'], folder },
  ];
}

type Way = {
  work: string;
  only: string | undefined;
  env: Record<string, string>;
  packages: Record<string, string>;
};

async function tryExamples(
  given: string,
  language: 'python' | 'typescript',
  { work, only, env, packages }: Way,
): Promise<Row[]> {
  const folder = join(work, language);
  if (!existsSync(folder)) cpSync(join(given, language, 'examples'), folder, { recursive: true });
  const graphs = nameAll(folder).filter((name) => only === undefined || name === only);
  if (!existsSync(join(folder, '.installed'))) {
    for (const command of planPackages(folder, language, packages)) await runCommand(command, 900);
    writeFileSync(join(folder, '.installed'), '');
  }
  const started = performance.now();
  const server: DevServer = await startDev({
    args: ['--config', 'all.json', '--no-reload'],
    folder,
    env,
    seconds: 180,
  });
  printLine(`  ${language}: gx dev is ready after ${formatSecondsSince(started)}`);
  const rows: Row[] = [];
  try {
    for (const graph of graphs) {
      const row: Row = {
        example: `${language}/${graph}`,
        runs: 0,
        events: 0,
        sees: '',
        fault: '',
        isFaulty: false,
      };
      await play(server.url, graph, row).catch((error: Error) => {
        row.fault = error.message;
      });
      const own = OWN_FAULTS[row.example];
      const isOwn = own !== undefined && row.fault.includes(own);
      const end = row.fault === '' ? 'ok' : `${isOwn ? 'fails by itself' : 'FAILS'}: ${row.fault}`;
      printLine(
        `    ${row.example}: ${row.runs} runs, ${row.events} events (${row.sees}) ${end.slice(0, 1500)}`,
      );
      row.isFaulty = row.fault !== '' && !isOwn;
      rows.push(row);
    }
  } finally {
    if (rows.some(({ isFaulty }) => isFaulty)) printLine(server.output().slice(-4000));
    await server.stop();
  }
  return rows;
}

const OPTIONS = {
  keep: { type: 'string' },
  only: { type: 'string' },
  package: { type: 'string', multiple: true },
} as const;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const [given] = positionals;
  if (given === undefined || !existsSync(join(given, 'python/examples')))
    throw new UsageError(HELP);
  const { keep, only } = values;
  const packages = Object.fromEntries(
    (values.package ?? []).map((text) => [text.replace(/=.*/, ''), text.replace(/.*=/, '')]),
  );
  const work = keep === undefined ? mkdtempSync(join(tmpdir(), 'gx-examples-')) : resolve(keep);
  const models = await startModels(script);
  try {
    const rows: Row[] = [];
    for (const language of ['python', 'typescript'] as const)
      rows.push(...(await tryExamples(given, language, { work, only, env: models.env, packages })));
    const whole = rows.filter(({ fault }) => fault === '').length;
    printLine(`  ${whole} of ${rows.length} examples show what they are for`);
    if (rows.some(({ isFaulty }) => isFaulty)) process.exitCode = 1;
  } finally {
    await models.stop();
    if (keep === undefined) await rm(work, { recursive: true, force: true });
  }
}

await runMain(main);
