import { expect, test } from 'vitest';
import { parseBuildResult } from '../../../../src/operator/revision/build/staged.ts';

const TARGET = 'registry.example:5000/agents/team/chat:chat-00001';
const DIGEST = `sha256:${'b'.repeat(64)}`;
const NAME = 'registry.example:5000/agents/team/chat';

test.each([
  ['the name it was asked for', JSON.stringify({ image: TARGET }), { image: TARGET }],
  [
    'a digest',
    `${JSON.stringify({ image: `${NAME}@${DIGEST}` })}\n`,
    { image: `${NAME}@${DIGEST}` },
  ],
  [
    'tag, digest and commit',
    JSON.stringify({ image: `${TARGET}@${DIGEST}`, commit: 'c0ffee0' }),
    { image: `${TARGET}@${DIGEST}`, commitSha: 'c0ffee0' },
  ],
  ['a commit that is none', JSON.stringify({ image: TARGET, commit: 'main' }), { image: TARGET }],
])('a builder tells %s', (_, message, expected) => {
  expect(parseBuildResult(message, TARGET)).toEqual(expected);
});

test.each([
  ['nothing', undefined],
  ['a blank', ' \n'],
  ["another team's image", JSON.stringify({ image: 'registry.example:5000/agents/other/chat:1' })],
  ['a longer name', JSON.stringify({ image: `${NAME}-of-others:1` })],
  ['a path below', JSON.stringify({ image: `${NAME}/x:1` })],
  ['the name without a tag', JSON.stringify({ image: NAME })],
  ['a digest too short', JSON.stringify({ image: `${NAME}@sha256:abc` })],
  ['a name that is no JSON', TARGET],
  ['words', 'done!'],
  ['half of JSON', '{"image": '],
  ['no text', '{"image": 1}'],
])('%s is no image', (_, message) => {
  expect(parseBuildResult(message, TARGET)).toEqual({
    problem: expect.stringMatching(/^The builder/),
  });
});
