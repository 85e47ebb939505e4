import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { register } from 'tsx/esm/api';

/* This separate process loads the modules of graphs as a server does, and runs no graph. */

async function listFaults(files: string[]): Promise<string[]> {
  register();
  const faults: string[] = [];
  for (const file of files) {
    const fault = await import(pathToFileURL(file).href).then(() => undefined, loadFault);
    if (fault !== undefined) faults.push(`${file}: ${fault}`);
  }
  return faults;
}

process.once(
  'message',
  (files: string[]) => void listFaults(files).then((faults) => process.send?.(faults)),
);

/** Frames of Node itself, which link modules. A SyntaxError of JSON.parse or of a RegExp begins with another one. */
const OF_NODE = /^\s*at .*(node:internal\/|compileSourceTextModule|wrapSafe)/;

/**
 * Returns why a module can never be loaded: its syntax, or a file of its project that is not there. Undefined for all
 * that the settings of a deployment may change, and for packages, which the base image may have.
 */
function loadFault(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { name, message, stack = '', code } = thrown as Error & { code?: string };
  const isMissingFile =
    code === 'ERR_MODULE_NOT_FOUND' && message.startsWith("Cannot find module '/");
  const [first = ''] = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const isSyntax = name === 'TransformError' || (name === 'SyntaxError' && OF_NODE.test(first));
  return isMissingFile || isSyntax ? `${name}: ${message}` : undefined;
}
