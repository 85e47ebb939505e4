import { stripTypeScriptTypes } from 'node:module';
import { beforeAll, describe, expect, test } from 'vitest';
import { faultsOfCall, faultsOfDockerfile, faultsOfQueries, readHelps } from './blocks/commands.ts';
import { faultsOfJson, faultsOfYaml } from './blocks/data.ts';
import { readBlocks, type Block } from './blocks/read.ts';
import { typePage } from './blocks/shell.ts';

/*
 * Each block of code of README.md and docs is of a class, and each class is checked. agent/handlers.test.ts runs
 * the code, and sends the requests; test/python does so for Python.
 */

/** Drawings and output, which nobody types. */
const SHOWN: Record<string, string> = {
  'docs/how-to/develop-in-python.md': 'a line of the log, which test/python/loops.test.ts expects',
};

const isShown = ({ page, text }: Block): boolean => /[┌│└]|\+---/.test(text) || page in SHOWN;

const CLASSES: Record<string, (block: Block) => string[]> = {
  yaml: ({ text }) => faultsOfYaml(text),
  json: ({ text }) => faultsOfJson(text),
  dockerfile: ({ text }) => faultsOfDockerfile(text),
  promql: ({ text }) => faultsOfQueries(text),
  text: (block) => (isShown(block) ? [] : ['is neither a drawing nor in the table of output']),
  ts: ({ text }) => (stripTypeScriptTypes(text).trim() === '' ? ['is empty'] : []),
  // A page's commands are typed one after the other, below.
  sh: () => [],
  // test/python runs them.
  python: () => [],
  // test/agent/usage/reports.test.ts runs those of its page.
  sql: ({ page }) => (page === 'docs/reference/agent-server/usage.md' ? [] : ['is run by no test']),
};

const blocks = readBlocks();
const pages = Map.groupBy(
  blocks.filter(({ language }) => language === 'sh'),
  ({ page }) => page,
);

beforeAll(readHelps, 60_000);

test('every block is of a class, and holds what the class asks for', () => {
  expect(blocks.length).toBeGreaterThan(200);
  const faults = blocks.flatMap((block) => {
    const check = CLASSES[block.language];
    return (
      check === undefined ? ['is of no class: its fence names no language'] : check(block)
    ).map((fault) => `${block.at}: ${fault}`);
  });
  expect(faults).toEqual([]);
});

test(
  'every command is one that there is, with its flags, fields, routes and files',
  { timeout: 120_000 },
  () => {
    const typed = [...pages.values()].map(typePage);
    expect(typed.flatMap(({ calls }) => calls).length).toBeGreaterThan(250);
    expect(typed.flatMap(({ faults }) => faults)).toEqual([]);
    expect(typed.flatMap(({ calls }) => calls.flatMap(faultsOfCall))).toEqual([]);
  },
);

describe('a wrong example is found', () => {
  const block = (language: string, text: string): Block => ({
    page: 'a.md',
    at: 'a.md:1',
    language,
    text,
  });
  const ofCommands = (text: string): string[] => {
    const { calls, faults } = typePage([block('sh', text)]);
    return [...faults, ...calls.flatMap(faultsOfCall)];
  };

  test.each([
    [
      'a field that no Deployment has',
      'yaml',
      'spec:\n  rollout:\n    step: 1',
      /must NOT have additional properties "step"/,
    ],
    ['a value that the chart does not have', 'yaml', 'settings:\n  bakups: {}', /"bakups"/],
    ['a key that no gx.json has', 'json', '{ "graphs": {}, "htp": {} }', /"htp"/],
    ['JSON of nobody', 'json', '{ "a": 1 }', /nobody knows/],
    ['an image that nothing makes', 'dockerfile', 'FROM gx-agent', /makes no gx-agent/],
    ['a figure that nothing reports', 'promql', 'gx_nothing > 1', /nothing reports gx_nothing/],
    ['text that is no drawing', 'text', 'kubectl get pods', /neither/],
  ])('%s', (_, language, text, fault) => {
    expect(CLASSES[language]!(block(language, text)).join()).toMatch(fault);
  });

  test.each([
    ['a program that nobody knows', 'kubctl get gxd', /unknown: kubctl/],
    ['a variable that nobody has set', 'curl $NOWHERE/v2/deployments', /NOWHERE: unbound variable/],
    ['a quote that does not end', 'curl "$URL', /unexpected EOF/],
    [
      'a route that is not there',
      'curl $CONTROL_PLANE_URL/v2/deployment',
      /there is no GET \/v2\/deployment/,
    ],
    [
      'a field that a body does not have',
      `curl $CONTROL_PLANE_URL/v2/deployments -H "X-Api-Key: $API_KEY" -d '{"nam": "x"}'`,
      /"nam"/,
    ],
    [
      'a field that a patch does not have',
      `kubectl patch gxd chat --type merge -p '{"spec":{"suspendd":true}}'`,
      /"suspendd"/,
    ],
    [
      'a field that a status does not have',
      `kubectl get gxd chat -o jsonpath='{.status.rollout.candidat}'`,
      /no status\.rollout\.candidat/,
    ],
    [
      'an annotation that nothing reads',
      'kubectl annotate gxd chat gx.dev/rotate-keys=1',
      /nothing reads gx\.dev\/rotate-keys/,
    ],
    [
      'a value of the chart',
      'helm upgrade gx charts/gx-platform --set build.registry=x',
      /"build"/,
    ],
    ['a flag of ours', 'gx dev --port 1 --reload', /gx dev has no --reload/],
    ['a target', 'make tests', /no target tests/],
  ])('%s', (_, text, fault) => {
    expect(ofCommands(text).join('\n')).toMatch(fault);
  });
});
