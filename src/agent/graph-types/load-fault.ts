/** Frames of Node itself, which link modules. A SyntaxError of JSON.parse or of a RegExp begins with another one. */
const OF_NODE = /^\s*at .*(node:internal\/|compileSourceTextModule|wrapSafe)/;

/**
 * Returns why a module can never be loaded: its syntax, or a file of its project that is not there. Undefined for all
 * that the settings of a deployment may change, and for packages, which the base image may have.
 */
export function loadFault(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { name, message, stack = '', code } = thrown as Error & { code?: string };
  const isMissingFile = code === 'ERR_MODULE_NOT_FOUND' && message.startsWith("Cannot find module '/");
  const [first = ''] = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const isSyntax = name === 'TransformError' || (name === 'SyntaxError' && OF_NODE.test(first));
  return isMissingFile || isSyntax ? `${name}: ${message}` : undefined;
}
