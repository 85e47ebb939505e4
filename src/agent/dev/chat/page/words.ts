/** Returns the value that a person meant: the JSON value in the text, if that is more than a string, else the text. */
export function meantBy(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' || typeof value === 'number' ? text : value;
  } catch {
    return text;
  }
}

/** Returns the input of a run. A JSON object is the graph's whole input; anything else is a message. */
export function inputOf(text: string): { input: object; message: { type: string; content: string } | undefined } {
  const meant = meantBy(text);
  if (typeof meant === 'object' && meant !== null && !Array.isArray(meant)) return { input: meant, message: undefined };
  const message = { type: 'human', content: text };
  return { input: { messages: [message] }, message };
}

/** Returns the answer to the questions. A single answer is for the only question; of several, each is for its own. */
export function resumeOf(questions: { id?: string }[], answers: string[]): unknown {
  if (questions.length === 1) return meantBy(answers[0] ?? '');
  return Object.fromEntries(questions.map(({ id }, index) => [id ?? String(index), meantBy(answers[index] ?? '')]));
}

/** Returns a question as text: its own words where it has some, else all of it. */
export function wordsOf(value: unknown): { text: string; details: string | undefined } {
  if (typeof value === 'string') return { text: value, details: undefined };
  if (typeof value !== 'object' || value === null) return { text: JSON.stringify(value) ?? '', details: undefined };
  const { question, message, ...others } = value as Record<string, unknown>;
  const own = [question, message].find((word): word is string => typeof word === 'string');
  const details = JSON.stringify(own === undefined ? value : others, null, 2);
  return { text: own ?? 'The agent waits for an answer.', details: details === '{}' ? undefined : details };
}

type SeenFault = { graph_id: string | null; error: string; serves: string };

/** Returns the message about a graph that is not served as its file says. The server's sentence names the graph. */
export function wordsOfFault({ graph_id: graph, error, serves }: SeenFault): string {
  const sentence = /[.!?]$/.test(error) ? error : `${error}.`;
  if (graph === null) return `${sentence} All graphs answer as before until this is mended.`;
  return `${sentence} ${serves === 'nothing' ? 'It is not served until this is mended; the others are.' : 'All graphs answer as before until this is mended.'}`;
}

const LONGEST_TITLE = 60;

type ThreadSeen = { values?: unknown; thread_id: string };

/** Returns the name of a thread in the list, which is its first words. */
export function titleOf({ values, thread_id: id }: ThreadSeen): string {
  const { messages } = (values ?? {}) as { messages?: { type?: string; content?: unknown }[] };
  const content = Array.isArray(messages) ? messages.find(({ type }) => type === 'human')?.content : undefined;
  const words = typeof content === 'string' ? content.replaceAll(/\s+/g, ' ').trim() : '';
  if (words === '') return `Thread ${id.slice(0, 8)}`;
  return words.length > LONGEST_TITLE ? `${words.slice(0, LONGEST_TITLE - 1)}…` : words;
}

export type Piece = { kind: 'plain' | 'code' | 'strong'; text: string };
export type Paragraph = { kind: 'code'; text: string } | { kind: 'text'; pieces: Piece[] };

/** Returns a text with the little Markdown that models use most: fenced and inline code, and bold words. */
export function paragraphsOf(text: string): Paragraph[] {
  return text
    .split(/^(```[^\n]*\n[\s\S]*?(?:^```[^\S\n]*$|(?![\s\S])))/m)
    .map((part) => part.replace(/^\n+|\s+$/g, ''))
    .filter((part) => part !== '')
    .map((part) =>
      part.startsWith('```')
        ? { kind: 'code', text: part.replace(/^```[^\n]*\n?|\n?```$/g, '') }
        : { kind: 'text', pieces: piecesOf(part) },
    );
}

const piecesOf = (text: string): Piece[] =>
  text
    .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
    .filter((part) => part !== '')
    .map((part) => {
      if (part.length > 2 && part.startsWith('`') && part.endsWith('`')) return { kind: 'code', text: part.slice(1, -1) };
      return part.startsWith('**') && part.endsWith('**') ? { kind: 'strong', text: part.slice(2, -2) } : { kind: 'plain', text: part };
    });
