import type { ShownFile } from './message-files.ts';
import { conversationIn, type ShownMessage, type ShownToolCall } from './shown-messages.ts';

/** Messages that are shown. Those before them are counted. */
const MOST = 200;

/** The messages of a state. All of it is text: nothing of an agent is run, or opened, or drawn. */
export function Conversation({ values }: { values: unknown }) {
  const messages = conversationIn(values);
  if (messages === undefined) return null;
  const left = messages.length - MOST;
  return (
    <>
      <h3>Messages</h3>
      {left > 0 && <p class="note">{left} earlier ones are not shown.</p>}
      <ol class="messages">
        {messages.slice(-MOST).map((message, index) => (
          <li key={`${index} ${message.key}`}>
            <MessageShown message={message} />
          </li>
        ))}
      </ol>
    </>
  );
}

/** One message: its speaker, its text, and the tools that it calls. */
export function MessageShown({ message: { who, text, reasoning, calls, files } }: { message: ShownMessage }) {
  return (
    <>
      <strong>{who}</strong>
      {reasoning !== '' && (
        <details>
          <summary>Reasoning</summary>
          <p>{reasoning}</p>
        </details>
      )}
      {text !== '' && <p>{text}</p>}
      {files.map((file, at) => (
        <FileShown key={at} file={file} />
      ))}
      {calls.map((call, at) => (
        <ToolCall key={at} call={call} />
      ))}
    </>
  );
}

/** A picture that the message brings is shown. Nothing else is loaded, or opened without a click. */
function FileShown({ file: { kind, name, url } }: { file: ShownFile }) {
  if (kind === 'picture') return <img class="picture" src={url} alt={name} />;
  if (kind === 'bytes') return <p class="quiet">{name}</p>;
  return (
    <p>
      <a href={url} target="_blank" rel="noopener noreferrer">
        {name}
      </a>
    </p>
  );
}

function ToolCall({ call: { name, input, result, failed } }: { call: ShownToolCall }) {
  return (
    <details>
      <summary>
        {name}
        {result === undefined ? ', without an answer' : failed ? ', failed' : ''}
      </summary>
      <pre>{input}</pre>
      {result !== undefined && <pre>{result}</pre>}
    </details>
  );
}
