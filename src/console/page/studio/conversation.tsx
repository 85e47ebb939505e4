import { Icon } from '../shell/icon.tsx';
import type { ShownFile } from './message-files.ts';
import { trimShownText, type ShownMessage, type ShownToolCall } from './shown-messages.ts';

/** One message: its speaker, its text, and the tools that it calls. */
export function MessageShown({
  message: { who, text, reasoning, calls, files },
}: {
  message: ShownMessage;
}) {
  return (
    <>
      <strong>{who}</strong>
      {reasoning !== '' && (
        <details class="reasoning">
          <summary>
            <Icon name="spark" /> Reasoning
          </summary>
          <p>{trimShownText(reasoning)}</p>
        </details>
      )}
      {text !== '' && <p>{trimShownText(text)}</p>}
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
    <details class="tool">
      <summary>
        <Icon name="tool" /> <code>{name}</code>
        {result === undefined ? (
          <span class="sign">no answer yet</span>
        ) : (
          <span class={failed ? 'sign error' : 'sign done'}>
            <Icon name={failed ? 'cross' : 'check'} />
            {failed ? 'failed' : 'done'}
          </span>
        )}
      </summary>
      <div class="parts">
        <span class="quiet">Arguments</span>
        <pre tabIndex={0}>{trimShownText(input)}</pre>
        {result !== undefined && <span class="quiet">Result</span>}
        {result !== undefined && <pre tabIndex={0}>{trimShownText(result)}</pre>}
      </div>
    </details>
  );
}
