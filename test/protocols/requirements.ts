/*
 * What MCP required of servers when it released a revision, as its conformance suite froze it, and which of these
 * checks an agent server does not pass. An entry is a scenario, or one check of it behind a colon.
 */

/** The newest version of the suite that has the sets of requirements. */
export const CONFORMANCE = '0.2.0-alpha.12';

type Requirements = {
  revision: string;
  /** Checks of what the protocol lets a server leave out, by the name that one which has it would announce. */
  optional: Record<string, string[]>;
  /** Checks that fail by what a client decides, each with the reason. */
  failing: Record<string, string>;
};

const PROMPTS = [
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
];
const RESOURCES = [
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
];

const SAMPLING =
  'asks for the model of the client, which decides whether it lends one; a graph has its own';
const ROOTS =
  'asks for folders of the client, which decides whether it shows any; a graph reads none';
const UNDECLARED =
  'needs a tool that fails without a capability of the client; no call needs one here: a client that can not be asked gets the state';

export const REQUIREMENTS: Requirements[] = [
  {
    revision: '2025-11-25',
    optional: {
      completions: ['completion-complete'],
      logging: ['logging-set-level', 'tools-call-with-logging'],
      prompts: PROMPTS,
      resources: [...RESOURCES, 'resources-subscribe', 'resources-unsubscribe'],
      // Up to this revision a server asks a client within a session. The first of these only warns that there is none.
      sessions: [
        'server-sse-multiple-streams',
        'tools-call-elicitation',
        'elicitation-sep1034-defaults',
        'elicitation-sep1330-enums',
      ],
    },
    failing: { 'tools-call-sampling': SAMPLING },
  },
  {
    revision: '2026-07-28',
    optional: {
      completions: ['completion-complete'],
      prompts: [
        ...PROMPTS,
        'caching:sep-2549-prompts-list-caching-hints',
        'input-required-result-non-tool-request',
      ],
      resources: [
        ...RESOURCES,
        'sep-2164-resource-not-found',
        'caching:sep-2549-resources-list-caching-hints',
        'caching:sep-2549-resources-templates-list-caching-hints',
        'caching:sep-2549-resources-read-caching-hints',
      ],
    },
    failing: {
      'input-required-result-basic-sampling': SAMPLING,
      'input-required-result-basic-list-roots': ROOTS,
      'input-required-result-multiple-input-requests': `${SAMPLING}; and ${ROOTS}`,
      'input-required-result-capability-check': `asks a client that shows no forms, and ${SAMPLING}`,
      'server-stateless:sep-2575-server-rejects-undeclared-capability': UNDECLARED,
      'server-stateless:sep-2575-missing-capability-http-400': UNDECLARED,
    },
  },
];

/** Returns the checks that may fail of a server that announces this. What it announces has to pass. */
export const expectedFailures = (
  { optional, failing }: Requirements,
  announced: Set<string>,
): string[] => [
  ...Object.entries(optional).flatMap(([name, checks]) => (announced.has(name) ? [] : checks)),
  ...Object.keys(failing),
];

/** Returns what a server has beside tools: its capabilities, and sessions. */
export async function announcedBy(url: string): Promise<Set<string>> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'requirements', version: '1' },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  const text = await response.text();
  const answer = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as {
    result: { capabilities: object };
  };
  return new Set([
    ...Object.keys(answer.result.capabilities),
    ...(response.headers.has('mcp-session-id') ? ['sessions'] : []),
  ]);
}
