import type { LeftOut } from '../left-out.ts';

/* Tests that can't pass where each state holds values of classes, with the reasons. */

const NAMED_ALONE = 'It is about classes that are not to come back.';

export const LEFT_OUT_WITH_CLASSES: Readonly<Record<string, LeftOut>> = {
  'test/python/serde.test.ts': {
    'a class that gx.json names comes back as such, and so does a pickled value where it asks for it; nobody else gets them':
      NAMED_ALONE,
    'with null, only the classes that classes names come back': NAMED_ALONE,
    'with null, only the classes that classes_of_data names come back': NAMED_ALONE,
    'with null, only the classes that configured names come back': NAMED_ALONE,
    'LANGGRAPH_STRICT_MSGPACK means the same as null': NAMED_ALONE,
  },
};
