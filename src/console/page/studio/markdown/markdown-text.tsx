import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CopyButton } from '../../shell/copy-button.tsx';
import { parseBlocks, type Block, type ListItem } from './blocks.ts';
import { parseInlines, type Inline } from './inlines.ts';

/**
 * A text in Markdown. It becomes elements of the page one by one, and never HTML, so that no text of an agent can make
 * another element than these, and nothing has to be taken out of it afterwards.
 */
export function MarkdownText({ text }: { text: string }) {
  const blocks = useMemo(() => parseBlocks(text), [text]);
  return (
    <div class="markdown">
      <Blocks blocks={blocks} />
    </div>
  );
}

const Blocks = ({ blocks }: { blocks: readonly Block[] }) => (
  <>
    {blocks.map((block, at) => (
      <BlockShown key={at} block={block} />
    ))}
  </>
);

function BlockShown({ block }: { block: Block }) {
  switch (block.kind) {
    case 'paragraph':
      return (
        <p>
          <Words text={block.text} />
        </p>
      );
    case 'heading':
      return <Heading level={block.level} text={block.text} />;
    case 'code':
      return <Code language={block.language} text={block.text} />;
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case 'list':
      return <List first={block.first} items={block.items} />;
    case 'table':
      return <Grid table={block} />;
    default:
      return <hr />;
  }
}

/** The headings of a page are its own, so those of a message begin below them. */
function Heading({ level, text }: { level: number; text: string }) {
  const words = <Words text={text} />;
  if (level <= 2) return <h3>{words}</h3>;
  return level === 3 ? <h4>{words}</h4> : <h5>{words}</h5>;
}

const LONGEST_LANGUAGE = 20;

const Code = ({ language, text }: { language: string; text: string }) => (
  <figure class="code">
    <figcaption>
      <span>{language === '' ? 'text' : language.slice(0, LONGEST_LANGUAGE)}</span>
      <CopyButton text={text} label="Copy" class="plain" />
    </figcaption>
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  </figure>
);

function List({ first, items }: { first: number | undefined; items: readonly ListItem[] }) {
  const shown = items.map(({ blocks, done }, at) => (
    <li key={at} class={done === undefined ? undefined : 'task'}>
      {done !== undefined && (
        <input type="checkbox" checked={done} disabled aria-label={done ? 'done' : 'to do'} />
      )}
      <ItemBlocks blocks={blocks} />
    </li>
  ));
  return first === undefined ? <ul>{shown}</ul> : <ol start={first}>{shown}</ol>;
}

/** The words of an item stand beside its sign, without the distance of a paragraph. */
function ItemBlocks({ blocks: [first, ...rest] }: { blocks: readonly Block[] }) {
  if (first === undefined) return null;
  if (first.kind !== 'paragraph') return <Blocks blocks={[first, ...rest]} />;
  return (
    <>
      <span>
        <Words text={first.text} />
      </span>
      <Blocks blocks={rest} />
    </>
  );
}

function Grid({ table: { head, sides, rows } }: { table: Block & { kind: 'table' } }) {
  return (
    <div class="written-grid" tabIndex={0} role="group" aria-label="Table">
      <table class="written">
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th key={at} scope="col" class={sides[at]}>
                <Words text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} class={sides[column]}>
                  <Words text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Words = ({ text }: { text: string }) => <>{parseInlines(text).map(renderInline)}</>;

function renderInline(part: Inline, at: number): ComponentChildren {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'break':
      return <br key={at} />;
    case 'code':
      return <code key={at}>{part.text}</code>;
    case 'em':
      return <em key={at}>{part.parts.map(renderInline)}</em>;
    case 'strong':
      return <b key={at}>{part.parts.map(renderInline)}</b>;
    case 'strike':
      return <s key={at}>{part.parts.map(renderInline)}</s>;
    default:
      return (
        <a key={at} href={part.href} title={part.href} target="_blank" rel="noopener noreferrer">
          {part.parts.map(renderInline)}
        </a>
      );
  }
}
