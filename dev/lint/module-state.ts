import type { Node, Rule } from './rule.ts';

/** Classes whose objects nobody changes, or only their holder for a moment. */
const CONSTANT = new Set([
  'Date',
  'Error',
  'RegExp',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'Uint8Array',
  'Intl',
]);
/** Collections that are constant if they are made with their content and nobody adds to it. */
const COLLECTIONS = new Set(['Array', 'Map', 'Set']);
const CHANGES = new Set(
  'add clear copyWithin delete fill pop push reverse set shift sort splice unshift'.split(' '),
);

/**
 * Nothing that changes may be at module level, where it would outlive its owner and be shared by all tests of a
 * process.
 */
export const moduleState: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const report = (node: Node, what: string): void =>
      context.report({
        node,
        message: `${what} at module level: give it an owner, or a suppression with its reason.`,
      });
    return {
      'Program:exit'() {
        for (const statement of context.sourceCode.ast.body) {
          const declaration = (statement.declaration ?? statement) as Node;
          if (declaration.type !== 'VariableDeclaration' || declaration.declare === true) continue;
          if (declaration.kind !== 'const') report(declaration, declaration.kind as string);
          else for (const declarator of declaration.declarations as Node[]) check(declarator);
        }
      },
    };

    function check(declarator: Node): void {
      const init = stripCasts(declarator.init as Node | null);
      if (init?.type === 'NewExpression' && isMutable(init))
        return report(declarator, `An object of ${getClassName(init.callee as Node)}`);
      if (
        init === undefined ||
        !['NewExpression', 'ArrayExpression', 'ObjectExpression'].includes(init.type)
      )
        return;
      const [variable] = context.sourceCode.getDeclaredVariables(declarator);
      const change = variable?.references.find(({ identifier }) => isChanged(identifier));
      if (change !== undefined) report(change.identifier, `${variable?.name} changes`);
    }
  },
};

/** Returns true for a collection that will change. An empty one at module level will be filled. */
function isMutable({ callee, arguments: given }: Node): boolean {
  const name = getClassName(callee as Node);
  return COLLECTIONS.has(name) ? (given as Node[]).length === 0 : !CONSTANT.has(name);
}

/** Returns the name of a class: `Map`, or `Intl` of `Intl.DateTimeFormat`. */
const getClassName = (callee: Node): string =>
  ((callee.name ?? (callee.object as Node | undefined)?.name) as string | undefined) ?? 'a class';

/** Returns the value beneath `as const`, `satisfies` and the like. */
function stripCasts(node: Node | null | undefined): Node | undefined {
  let value = node ?? undefined;
  while (value?.type.startsWith('TS')) value = value.expression as Node | undefined;
  return value;
}

function isChanged(identifier: Node): boolean {
  const member = identifier.parent;
  if (member?.type !== 'MemberExpression' || member.object !== identifier) return false;
  const use = member.parent;
  switch (use?.type) {
    case 'AssignmentExpression':
      return use.left === member;
    case 'UpdateExpression':
      return true;
    case 'UnaryExpression':
      return use.operator === 'delete';
    case 'CallExpression':
      return use.callee === member && CHANGES.has((member.property as Node).name as string);
    default:
      return false;
  }
}
