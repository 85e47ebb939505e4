/** How a user writes the graph's file: TypeScript or JavaScript, in a package of ES modules or of CommonJS. */
export type Form = 'module.ts' | 'module.js' | 'commonjs.ts' | 'commonjs.js';

/** One user's project. It names npm ranges, of which the newest version is installed. */
export type Row = { langgraph: string; core: string; zod: string; form: Form; node: string };

/** The lowest Node that `dev` runs on. process.threadCpuUsage came with it, and type stripping one version earlier. */
const LOWEST_NODE = '22.19.0';

/** LangGraph that projects still have and that the log warns of. */
const BEFORE = { langgraph: '~0.4.0', core: '~0.3.0' };
/** LangGraph with the core of its time. The oldest one streams messages in parts, not in blocks. */
const OLDEST = { langgraph: '~1.2.0', core: '~1.1.0' };
const OLD = { langgraph: '~1.4.0', core: '~1.2.0' };
const MIDDLE = { langgraph: '~1.5.0', core: '~1.3.0' };
const NEW = { langgraph: '~1.7.0', core: '~1.4.0' };

/** Any two values of different columns meet in one row. */
export const ROWS: Row[] = [
  { ...BEFORE, zod: '^3.25.32', form: 'module.js', node: '^24' },
  { ...OLDEST, zod: '^4.2.0', form: 'module.js', node: '^24' },
  { ...OLD, zod: '^3.25.32', form: 'module.ts', node: LOWEST_NODE },
  { ...OLD, zod: '^4.2.0', form: 'commonjs.js', node: '^24' },
  { ...MIDDLE, zod: '^3.25.32', form: 'commonjs.ts', node: '^22' },
  { ...MIDDLE, zod: '^4.2.0', form: 'module.js', node: '^24' },
  { ...NEW, zod: '^3.25.32', form: 'commonjs.js', node: '^24' },
  { ...NEW, zod: '^4.2.0', form: 'module.ts', node: LOWEST_NODE },
];

/** What test/matrix/agents is built from: agents of the packages `langchain` and `deepagents`. */
export const AGENTS = {
  deepagents: '^1.14.1',
  langchain: '^1.5.14',
  '@langchain/langgraph': NEW.langgraph,
  '@langchain/core': NEW.core,
  zod: '^4.2.0',
};

/** npm packages of the official client. */
export const NPM_CLIENTS = ['1.11.0', '1.15.0', '2.0.0'];
/** The official client of Python. */
export const PYTHON_CLIENT = '0.4.14';

/** A third party's library that uses the official client, with the packages around it. */
export type Adapter = { name: string; script: string; packages: Record<string, string> };

export const ADAPTERS: Adapter[] = [
  {
    name: '@ag-ui/langgraph',
    script: 'ag-ui.mjs',
    packages: {
      '@ag-ui/langgraph': '0.0.43',
      '@ag-ui/client': '1.0.0',
      '@ag-ui/core': '1.0.0',
      '@langchain/langgraph-sdk': '1.15.0',
    },
  },
  {
    name: '@assistant-ui/react-langgraph',
    script: 'assistant-ui.mjs',
    packages: {
      '@assistant-ui/react-langgraph': '0.14.25',
      '@assistant-ui/core': '0.3.17',
      '@assistant-ui/store': '0.3.12',
      '@assistant-ui/tap': '0.9.16',
      'assistant-stream': '0.3.41',
      'assistant-cloud': '0.1.43',
      '@langchain/langgraph-sdk': '1.15.0',
      react: '19.3.1',
      'react-dom': '19.3.1',
      'happy-dom': '21.0.4',
    },
  },
];
