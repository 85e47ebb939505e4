import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { describeEnding } from '../api/refusal.ts';
import { signIn } from '../api/session.ts';
import { useApp } from './app.ts';
import { describeFailure } from '../api/failure-text.ts';
import { Icon } from './icon.tsx';
import { Fault, Button, TextLine } from './controls.tsx';

/** Asks for an API key, and says why a former session has ended. The address stays, so the reader comes back to it. */
export function SignIn() {
  const app = useApp();
  const key = useSignal('');
  const refused = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  useEffect(() => document.querySelector<HTMLElement>('[name=api_key]')?.focus(), []);
  const ending = describeEnding(app.session.value?.reason);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    isBusy.value = true;
    try {
      const answer = await signIn(app.calls, key.value.trim());
      if (typeof answer === 'string') refused.value = answer;
      else app.session.value = answer;
    } catch (error) {
      refused.value = describeFailure(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <main class="sign-in">
      <p class="brand">
        <Icon name="layers" /> gx
      </p>
      <h1 tabIndex={-1}>Sign in</h1>
      <p class="quiet">
        This is the console of gx-platform. The administrator of the platform makes API keys, by the
        command <code>api-key create</code>.
      </p>
      {ending !== undefined && (
        <p class="note" role="status">
          {ending}
        </p>
      )}
      {!isSecureContext && (
        <p class="fault">
          This page is neither on https nor on localhost. Browsers send no session from here.
        </p>
      )}
      <form onSubmit={(event) => void send(event)}>
        <label>
          API key
          <TextLine
            type="password"
            name="api_key"
            autocomplete="current-password"
            required
            of={key}
          />
        </label>
        <Fault text={refused.value} />
        <Button class="main" disabled={isBusy.value} label="Sign in" />
      </form>
    </main>
  );
}
