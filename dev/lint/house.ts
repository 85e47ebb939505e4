import { boundedAnswers } from './bounded-answers.ts';
import { casts } from './casts.ts';
import { commentWidth, suppressionReason } from './comments.ts';
import { directions } from './directions.ts';
import { doors } from './doors.ts';
import { moduleState } from './module-state.ts';
import { outgoing } from './outgoing.ts';
import { pure } from './pure.ts';
import { sessions } from './sessions.ts';
import { words } from './words.ts';

/*
 * The rules of this project that no linter has. Their tables are in .oxlintrc.json, and test/walls plants a fault for
 * each.
 */
export default {
  meta: { name: 'house' },
  rules: {
    'bounded-answers': boundedAnswers,
    casts,
    'comment-width': commentWidth,
    directions,
    doors,
    'module-state': moduleState,
    outgoing,
    pure,
    sessions,
    'suppression-reason': suppressionReason,
    words,
  },
};
