import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import type { ts } from '@ts-morph/common';
import type { GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import { resolveGraphType, buildTypeSchemas } from './graph-types.ts';
import { Subgraphs } from './subgraphs.ts';
import type { Compiler, TypedProject } from './type-schema.ts';

/*
 * This separate process reads the types of graphs with the compiler of the user's project. It runs none of the user's
 * code.
 */

export type TypesAsked = { typescript: string; graphs: GraphSource[] };
/** Graph id -> namespace -> schemas; the graph itself has the empty namespace. */
export type SchemasByGraph = Record<string, Record<string, GraphSchemas>>;

function readTypes({ typescript, graphs }: TypesAsked): SchemasByGraph {
  const compiler = createRequire(import.meta.url)(typescript) as Compiler;
  const read: SchemasByGraph = {};
  const byConfig = Map.groupBy(graphs, ({ file }) =>
    compiler.findConfigFile(path.dirname(file), compiler.sys.fileExists),
  );
  for (const [config, sources] of byConfig) {
    const rootNames = [...new Set(sources.map(({ file }) => file))];
    const project = {
      compiler,
      program: compiler.createProgram(rootNames, readOptions(compiler, config)),
    };
    for (const source of sources) read[source.graphId] = buildSchemas(source, project);
  }
  return read;
}

/** Returns those of the project's own options that say what a name means. Files find each other as with tsx. */
function readOptions(compiler: Compiler, config: string | undefined): ts.CompilerOptions {
  const host = { ...compiler.sys, readDirectory: () => [] };
  const file: unknown = config && compiler.readConfigFile(config, host.readFile).config;
  const own =
    config === undefined
      ? {}
      : compiler.parseJsonConfigFileContent(file, host, path.dirname(config)).options;
  return {
    jsx: compiler.JsxEmit.ReactJSX,
    target: compiler.ScriptTarget.ES2022,
    ...own,
    module: compiler.ModuleKind.ESNext,
    moduleResolution: compiler.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    allowJs: true,
    noEmit: true,
    skipLibCheck: true,
    strict: true,
  };
}

function buildSchemas(
  { file, exportName }: GraphSource,
  project: TypedProject,
): Record<string, GraphSchemas> {
  const checker = project.program.getTypeChecker();
  const source = project.program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  const named =
    module && checker.getExportsOfModule(module).find(({ name }) => name === exportName);
  if (named === undefined) return {};
  const exported =
    named.flags & project.compiler.SymbolFlags.Alias ? checker.getAliasedSymbol(named) : named;
  const graph = resolveGraphType(checker.getTypeOfSymbol(exported), checker);
  if (graph === undefined) return {};
  const schemas = { '': buildTypeSchemas(graph, project) };
  const inner = new Subgraphs(project)
    .listSubgraphs(exported)
    .map(({ namespace, type }) => [namespace, buildTypeSchemas(type, project)]);
  return { ...(Object.fromEntries(inner) as Record<string, GraphSchemas>), ...schemas };
}

process.once('message', (asked: TypesAsked) => process.send?.(readTypes(asked)));
