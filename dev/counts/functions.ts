import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

/** A function that has a name: a declaration, a constant that holds an arrow, or a method of a class. */
export type NamedFunction = {
  file: string;
  name: string;
  kind: 'declaration' | 'constant' | 'method';
  isExported: boolean;
  isTopLevel: boolean;
};

/** A type that one file declares for itself, and how often that file uses it. */
export type LocalType = { file: string; name: string; uses: number };

export type ParsedFile = {
  file: string;
  functions: NamedFunction[];
  localTypes: LocalType[];
  picks: number;
};

type Node = { type: string; [key: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

function* listChildren(node: Node): Generator<Node> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) yield* value.filter(isNode);
    else if (isNode(value)) yield value;
  }
}

const readName = (node: unknown): string | undefined =>
  isNode(node) ? (node['name'] as string | undefined) : undefined;

function unwrapExpression(node: unknown): Node | undefined {
  let inner = node;
  while (
    isNode(inner) &&
    ['TSAsExpression', 'TSSatisfiesExpression', 'ParenthesizedExpression'].includes(inner.type)
  )
    inner = inner['expression'];
  return isNode(inner) ? inner : undefined;
}

/** Returns the name of a function, for the node that declares it; getters and constructors are none. */
function readFunction(node: Node): Pick<NamedFunction, 'name' | 'kind'> | undefined {
  const name = readName(node['id'] ?? node['key']);
  if (name === undefined) return undefined;
  if (node.type === 'FunctionDeclaration') return { name, kind: 'declaration' };
  const value = unwrapExpression(node['init']);
  if (
    node.type === 'VariableDeclarator' &&
    (value?.type === 'ArrowFunctionExpression' || value?.type === 'FunctionExpression')
  )
    return { name, kind: 'constant' };
  return node.type === 'MethodDefinition' && node['kind'] === 'method'
    ? { name, kind: 'method' }
    : undefined;
}

const TYPE_DECLARATIONS = ['TSTypeAliasDeclaration', 'TSInterfaceDeclaration'];

/** Parses one file of TypeScript or of the page. */
export function parseFile(root: string, file: string): ParsedFile {
  const { program } = parseSync(file, readFileSync(`${root}/${file}`, 'utf8'));
  const found: ParsedFile = { file, functions: [], localTypes: [], picks: 0 };
  const uses = new Map<string, number>();
  const visit = (node: Node, depth: number, isExported: boolean): void => {
    const own = readFunction(node);
    if (own !== undefined)
      found.functions.push({
        file,
        ...own,
        isExported,
        isTopLevel: depth === 0 && own.kind !== 'method',
      });
    if (TYPE_DECLARATIONS.includes(node.type) && !isExported)
      found.localTypes.push({ file, name: readName(node['id']) ?? '', uses: 0 });
    if (node.type === 'TSTypeReference') {
      const name = readName(node['typeName']) ?? '';
      uses.set(name, (uses.get(name) ?? 0) + 1);
      if (name === 'Pick') found.picks += 1;
    }
    const isExport =
      node.type === 'ExportNamedDeclaration' || node.type === 'ExportDefaultDeclaration';
    const isFunction = /Function|MethodDefinition/.test(node.type);
    for (const child of listChildren(node))
      visit(
        child,
        depth + (isFunction ? 1 : 0),
        isExport || (isExported && node.type === 'VariableDeclaration'),
      );
  };
  visit(program as unknown as Node, 0, false);
  for (const type of found.localTypes) type.uses = uses.get(type.name) ?? 0;
  return found;
}
