import type { ts } from '@ts-morph/common';
import type { GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import { TypeSchema, type TypedProject } from './type-schema.ts';
import type { Json } from '../../schema/json.ts';

/*
 * This file reads the types of a graph. The project brings its own copy of LangGraph, so a graph is known by
 * the names of its properties.
 */

/** Returns the graph that an export makes: itself, the result of its builder, or the result of its function. */
export function resolveGraphType(exported: ts.Type, checker: ts.TypeChecker): ts.Type | undefined {
  const made = exported.getCallSignatures()[0]?.getReturnType() ?? exported;
  const settled = checker.getAwaitedType(made) ?? made;
  const compile = settled.getProperty('compile');
  const compiled =
    compile && checker.getTypeOfSymbol(compile).getCallSignatures().at(-1)?.getReturnType();
  const type = compiled ?? settled;
  return isGraph(type) ? type : undefined;
}

export const isGraph = (type: ts.Type): boolean => type.getProperty('~InputType') !== undefined;

/** Returns whether the type is a graph, or a builder of graphs. */
export const isGraphOrBuilder = (type: ts.Type): boolean =>
  isGraph(type) ||
  (type.getProperty('addNode') !== undefined && type.getProperty('compile') !== undefined);

/** Returns the schemas of a graph. */
export function buildTypeSchemas(graph: ts.Type, project: TypedProject): GraphSchemas {
  const checker = project.program.getTypeChecker();
  const buildSchema = (type: ts.Type | undefined): Json | null =>
    (type && new TypeSchema(project).buildSchema(type)) ?? null;
  const getPropertyType = (name: string): ts.Type | undefined => {
    const property = graph.getProperty(name);
    return property && checker.getTypeOfSymbol(property);
  };
  const output = buildSchema(getPropertyType('~OutputType'));
  const context = buildSchema(findContextType(getPropertyType('invoke'), checker));
  return {
    input_schema: buildSchema(getPropertyType('~InputType')),
    output_schema: output,
    state_schema: buildSchema(getPropertyType('~RunOutput')) ?? output,
    config_schema: context,
    context_schema: context,
  };
}

/** Returns the type of `context` in the options of `invoke`. A graph that declares none takes anything. */
function findContextType(
  invoke: ts.Type | undefined,
  checker: ts.TypeChecker,
): ts.Type | undefined {
  const options = invoke?.getCallSignatures().at(-1)?.parameters[1];
  const context =
    options && checker.getNonNullableType(checker.getTypeOfSymbol(options)).getProperty('context');
  const type = context && checker.getNonNullableType(checker.getTypeOfSymbol(context));
  return type && checker.getPropertiesOfType(type).length > 0 ? type : undefined;
}
