import { CopyButton } from '../shell/copy-button.tsx';
import { Button } from '../shell/controls.tsx';
import { Icon } from '../shell/icon.tsx';
import { wrapLazy } from '../shell/lazy.tsx';
import { saveBytes } from '../shell/save-file.ts';
import { getFileBytes, type ShownFile } from './message-files.ts';
import { trimShownText, type ShownMessage, type ShownToolCall } from './shown-messages.ts';

type Written = { text: string };

/** A text in Markdown. It stands there as it was written until the code that reads it is there. */
const Markdown = wrapLazy<Written>(
  async () => (await import('./markdown/markdown-text.tsx')).MarkdownText,
  ({ text }) => <p>{text}</p>,
);

/**
 * One message: its speaker, its text, and the tools that it calls. `took`: how long its tools worked. The words of a
 * person or a tool are shown as they are; agents write Markdown.
 */
export function MessageShown({
  message: { who, speaker, text, reasoning, calls, files },
  took,
}: {
  message: ShownMessage;
  took?: string | undefined;
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
      {text !== '' &&
        (speaker === 'agent' || speaker === 'system' ? (
          <Markdown text={trimShownText(text)} />
        ) : (
          <p>{trimShownText(text)}</p>
        ))}
      {files.map((file, at) => (
        <FileShown key={at} file={file} />
      ))}
      {calls.map((call, at) => (
        <ToolCall key={at} call={call} took={took} />
      ))}
    </>
  );
}

/** A picture that the message brings is shown. Nothing else is loaded, or opened without a click. */
function FileShown({ file }: { file: ShownFile }) {
  const { kind, name, url } = file;
  if (kind === 'picture') return <img class="picture" src={url} alt={name} />;
  if (kind === 'link')
    return (
      <p>
        <a href={url} target="_blank" rel="noopener noreferrer">
          {name}
        </a>
      </p>
    );
  const save = (): void => {
    const bytes = getFileBytes(file);
    if (bytes !== undefined) saveBytes(bytes, name);
  };
  return (
    <p class="file">
      <Icon name="clip" /> <bdi>{name}</bdi>
      <Button
        class="plain"
        aria-label={`Save ${name}`}
        title="Save it"
        label={<Icon name="save" />}
        press={save}
      />
    </p>
  );
}

function ToolCall({
  call: { name, input, result, failed },
  took,
}: {
  call: ShownToolCall;
  took: string | undefined;
}) {
  return (
    <details class="tool">
      <summary>
        <Icon name="tool" /> <code>{name}</code>
        {took !== undefined && result !== undefined && (
          <span class="quiet" title="The step of the graph took so long">
            {took}
          </span>
        )}
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
        <ToolText heading="Arguments" text={input} />
        {result !== undefined && <ToolText heading="Result" text={result} />}
      </div>
    </details>
  );
}

const ToolText = ({ heading, text }: { heading: string; text: string }) => (
  <>
    <span class="quiet">
      {heading}
      <CopyButton
        text={text}
        class="plain"
        aria-label={`Copy: ${heading}`}
        title="Copy"
        label={<Icon name="copy" />}
      />
    </span>
    <pre tabIndex={0}>{trimShownText(text)}</pre>
  </>
);
