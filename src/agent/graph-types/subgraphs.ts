import type { ts } from '@ts-morph/common';
import { isGraph, isGraphOrBuilder } from './graph-types.ts';
import type { TypedProject } from './type-schema.ts';

/*
 * This file finds the graphs that a graph has as nodes. Types hold only the names of nodes, so it reads the calls of
 * `addNode`.
 */

type Subgraph = { namespace: string; type: ts.Type };
type At = { namespace: string[]; seen: Set<ts.Node> };

/** The most levels of graphs within graphs. A graph that has itself as a node ends here. */
const DEEPEST = 8;

/** Finds the subgraphs of a graph that is declared somewhere in the program, with those below them. */
export class Subgraphs {
  readonly #compiler: TypedProject['compiler'];
  readonly #checker: ts.TypeChecker;
  readonly #found: Subgraph[] = [];

  constructor({ compiler, program }: TypedProject) {
    this.#compiler = compiler;
    this.#checker = program.getTypeChecker();
  }

  listSubgraphs(symbol: ts.Symbol): Subgraph[] {
    const at = { namespace: [], seen: new Set<ts.Node>() };
    for (const declared of symbol.declarations ?? []) this.#read(declared, at);
    return this.#found;
  }

  /** Reads the code that makes a graph. The graphs among its nodes are read by themselves. */
  #read(node: ts.Node, at: At): void {
    const compiler = this.#compiler;
    if (compiler.isCallExpression(node) && compiler.isPropertyAccessExpression(node.expression)) {
      if (node.expression.name.text === 'addNode') this.#readNodes(node.arguments, at);
      else for (const argument of node.arguments) this.#read(argument, at);
      this.#read(node.expression.expression, at);
      return;
    }
    if (compiler.isIdentifier(node)) this.#follow(node, at);
    else compiler.forEachChild(node, (child) => this.#read(child, at));
  }

  /** Goes to where a graph or a builder is declared, and to the statements that add to it. */
  #follow(name: ts.Identifier, at: At): void {
    const symbol = this.#resolveSymbol(name);
    if (symbol === undefined || !isGraphOrBuilder(this.#checker.getTypeAtLocation(name))) return;
    for (const declared of symbol.declarations ?? []) {
      if (
        !this.#compiler.isVariableDeclaration(declared) ||
        declared === name.parent ||
        at.seen.has(declared)
      )
        continue;
      at.seen.add(declared);
      if (declared.initializer) this.#read(declared.initializer, at);
      for (const statement of this.#listStatements(symbol, declared)) this.#read(statement, at);
    }
  }

  #resolveSymbol(node: ts.Node): ts.Symbol | undefined {
    const symbol = this.#checker.getSymbolAtLocation(node);
    const isAlias = symbol && symbol.flags & this.#compiler.SymbolFlags.Alias;
    return isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  /** Returns the statements `builder.addNode(...)` beside the declaration of `builder`. */
  #listStatements(symbol: ts.Symbol, declared: ts.VariableDeclaration): ts.Expression[] {
    const block: ts.Node = declared.parent.parent.parent;
    if (!('statements' in block)) return [];
    const statements = [...(block as ts.BlockLike).statements].filter((one) =>
      this.#compiler.isExpressionStatement(one),
    );
    return statements
      .map(({ expression }) => expression)
      .filter((one) => this.#resolveSymbol(this.#findRoot(one)) === symbol);
  }

  /** Returns `a` of `a.b().c()`. */
  #findRoot(expression: ts.Expression): ts.Expression {
    const compiler = this.#compiler;
    if (!compiler.isCallExpression(expression) && !compiler.isPropertyAccessExpression(expression))
      return expression;
    return this.#findRoot(expression.expression);
  }

  /** Reads `addNode(name, node, options)` and `addNode({ name: node })`. */
  #readNodes([first, action, options]: readonly ts.Expression[], at: At): void {
    const compiler = this.#compiler;
    if (first === undefined) return;
    if (compiler.isStringLiteralLike(first)) this.#readNode(first.text, [action, options], at);
    if (!compiler.isObjectLiteralExpression(first)) return;
    for (const property of first.properties)
      if (compiler.isPropertyAssignment(property))
        this.#readNode(
          'text' in property.name ? property.name.text : property.name.getText(),
          [property.initializer],
          at,
        );
  }

  #readNode(name: string, parts: (ts.Expression | undefined)[], at: At): void {
    const graph = parts
      .map((part) => part && this.#findGraph(part, at.seen))
      .find((one) => one !== undefined);
    if (graph === undefined || at.namespace.length >= DEEPEST) return;
    const namespace = [...at.namespace, name];
    this.#found.push({
      namespace: namespace.join('|'),
      type: this.#checker.getTypeAtLocation(graph),
    });
    this.#read(graph, { namespace, seen: new Set() });
  }

  /** Returns the graph that a node is, or else the first one that its function or its options name. */
  #findGraph(node: ts.Node, seen: Set<ts.Node>): ts.Expression | undefined {
    const compiler = this.#compiler;
    if (compiler.isExpression(node) && isGraph(this.#checker.getTypeAtLocation(node))) return node;
    if (!compiler.isIdentifier(node))
      return compiler.forEachChild(node, (child) => this.#findGraph(child, seen));
    const declared = this.#resolveSymbol(node)?.valueDeclaration;
    const inner =
      declared && compiler.isVariableDeclaration(declared) ? declared.initializer : declared;
    if (inner === undefined || !compiler.isFunctionLike(inner) || seen.has(inner)) return undefined;
    seen.add(inner);
    return compiler.forEachChild(inner, (child) => this.#findGraph(child, seen));
  }
}
