import { expect, test } from 'vitest';
import * as labels from '../../src/schema/platform/objects/labels.ts';

test('the selector of a component is a part of what its pods are labelled with', () => {
  for (const component of ['api', 'queue', 'database', 'agent'] as const) {
    expect(labels.buildManagedLabels('chat', component, 'chat-00001')).toMatchObject(
      labels.buildPodSelector('chat', component, 'chat-00001'),
    );
  }
});

test('a name too long for a label value is shortened the same way in both', () => {
  const long = 'n'.repeat(80);
  const values = Object.values(labels.buildManagedLabels(long, 'api', `${long}-00001`));
  expect(values.every((value) => value.length <= 63)).toBe(true);
  expect(labels.buildPodSelector(long, 'api')[labels.DEPLOYMENT]).toBe(
    labels.buildManagedLabels(long, 'api')[labels.DEPLOYMENT],
  );
});

test('revisions of one deployment have selectors of their own', () => {
  expect(labels.buildPodSelector('chat', 'api', 'chat-00001')).not.toEqual(
    labels.buildPodSelector('chat', 'api', 'chat-00002'),
  );
  expect(labels.buildPodSelector('chat', 'agent')).not.toHaveProperty([labels.REVISION]);
});
