import { describe, expect, test } from 'vitest';
import { parseBlocks, type Block } from '../../../src/console/page/studio/markdown/blocks.ts';
import { parseInlines, type Inline } from '../../../src/console/page/studio/markdown/inlines.ts';

/* Markdown as agents write it. The outline of a text names each part that it becomes. */

const outlineOf = (parts: readonly Inline[]): string =>
  parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      if (part.kind === 'break') return '<br>';
      if (part.kind === 'code') return `<code ${part.text}>`;
      const own = part.kind === 'link' ? `link ${part.href}` : part.kind;
      return `<${own}: ${outlineOf(part.parts)}>`;
    })
    .join('');
const inline = (text: string): string => outlineOf(parseInlines(text));

function blockOutline(block: Block): unknown {
  switch (block.kind) {
    case 'paragraph':
      return inline(block.text);
    case 'heading':
      return `h${block.level} ${inline(block.text)}`;
    case 'code':
      return { code: block.language, text: block.text };
    case 'quote':
      return { quote: block.blocks.map(blockOutline) };
    case 'list':
      return {
        list: block.first,
        items: block.items.map(({ blocks, done }) =>
          done === undefined ? blocks.map(blockOutline) : [done, ...blocks.map(blockOutline)],
        ),
      };
    case 'table':
      return [block.head, block.sides, ...block.rows];
    default:
      return 'rule';
  }
}
const outline = (text: string): unknown[] => parseBlocks(text).map(blockOutline);

describe('the words of a paragraph', () => {
  test.each([
    ['**bold *and* more** and __bold__', '<strong: bold <em: and> more> and <strong: bold>'],
    ['***both***', '<em: <strong: both>>'],
    ['*foo**bar*', '<em: foo**bar>'],
    ['snake_case_name, 2 * 3 * 4, a ~ b', 'snake_case_name, 2 * 3 * 4, a ~ b'],
    ['~~old~~ new', '<strike: old> new'],
    ['`a*b*` and ``c ` d``', '<code a*b*> and <code c ` d>'],
    ['`not closed', '`not closed'],
    ['\\*plain\\* C:\\dir', '*plain* C:\\dir'],
    ['one<br>two\\\nthree', 'one<br>two<br>three'],
    ['[a **b**](https://x.example/y_(z) "t")', '<link https://x.example/y_(z): a <strong: b>>'],
    [
      'see https://x.example/a_b. Or (http://y.example/)',
      'see <link https://x.example/a_b: https://x.example/a_b>. Or (<link http://y.example/: http://y.example/>)',
    ],
    [
      '<mailto:a@b.example> <https://x.example>',
      '<link mailto:a@b.example: mailto:a@b.example> <link https://x.example: https://x.example>',
    ],
    ['![a picture](https://x.example/p.png)', '<link https://x.example/p.png: a picture>'],
    [
      '[![p](https://x.example/p.png)](https://y.example)',
      '<link https://y.example: <link https://x.example/p.png: p>>',
    ],
  ])('%s', (text, shown) => {
    expect(inline(text)).toBe(shown);
  });

  test('that lead to anything but a page or a mailbox stay text', () => {
    for (const address of [
      'javascript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      '/etc',
      '//x',
      'https://',
    ])
      expect(inline(`[a](${address})`)).toBe(`[a](${address})`);
    expect(inline('<img src=x onerror=a()><script>a()</script>')).toBe(
      '<img src=x onerror=a()><script>a()</script>',
    );
  });
});

describe('the parts of a text', () => {
  test('are headings, paragraphs, rules and quotes', () => {
    expect(outline('# One #\ntext\nmore\n\n---\n> said\n> - a\n\n####### no')).toEqual([
      'h1 One',
      'text\nmore',
      'rule',
      { quote: ['said', { list: undefined, items: [['a']] }] },
      '####### no',
    ]);
  });

  test('are lists within lists, loosely indented, with boxes to tick', () => {
    expect(outline('3. three\n  - inner\n\n4. four\n\n   more\n- [x] done\n- [ ] open\n')).toEqual([
      {
        list: 3,
        items: [
          ['three', { list: undefined, items: [['inner']] }],
          ['four', 'more'],
        ],
      },
      {
        list: undefined,
        items: [
          [true, 'done'],
          [false, 'open'],
        ],
      },
    ]);
    expect(outline('It was in\n1984. Then')).toEqual(['It was in\n1984. Then']);
  });

  test('are code, also while its end is still to come', () => {
    expect(outline('```ts\nconst a = `1`;\n\n# no\n```\nafter\n~~~\nopen')).toEqual([
      { code: 'ts', text: 'const a = `1`;\n\n# no' },
      'after',
      { code: '', text: 'open' },
    ]);
  });

  test('are tables, whose cells may have a bar', () => {
    expect(outline('| a | b |\n|:--|--:|\n| 1 \\| 2 | x |\n| only |\n\nafter | it')).toEqual([
      [['a', 'b'], ['left', 'right'], ['1 | 2', 'x'], ['only']],
      'after | it',
    ]);
  });
});

/** Texts of one piece again and again, or of many beginnings and as many ends. */
const LETTERS = 8000;
const PIECES = [
  '*',
  '_',
  '[',
  '`',
  '<',
  '>',
  '|',
  '- ',
  '![',
  '[a](',
  '*a_',
  '**a *b ',
  '> - ',
  'a|b\n-|-\n',
  '***a',
  '`` ` ',
  'a\n-\n',
  '~~a',
  '```\n',
  '1. a\n',
  '\\',
  'http://a(',
  '<http://',
];
const PAIRS = [
  ['[', '](https://x.example)'],
  ['*', '*'],
  ['**a', 'a**'],
  ['![', '](b)'],
  ['a **', '** a'],
];

test('no text of an agent takes longer than its length allows, or nests without end', () => {
  const texts = [
    ...PIECES.map((piece) => piece.repeat(LETTERS / piece.length)),
    ...PAIRS.map(([from = '', to = '']) => `${from.repeat(1000)}x${to.repeat(1000)}`),
    Array.from({ length: 100 }, (_, at) => `${' '.repeat(2 * at)}- a`).join('\n'),
  ];
  const measureDepth = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? 1 + Math.max(0, ...Object.values(value).map(measureDepth))
      : 0;
  const isBad = (text: string): boolean => {
    const began = performance.now();
    const blocks = parseBlocks(text);
    const parts = blocks.map((block) => ('text' in block ? parseInlines(block.text) : block));
    // A parser that looks at each pair of marks takes seconds.
    return performance.now() - began > 1000 || measureDepth(parts) > 60;
  };
  expect(texts.filter(isBad).map((text) => text.slice(0, 20))).toEqual([]);
});
