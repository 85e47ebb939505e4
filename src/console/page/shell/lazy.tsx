import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button, Skeleton } from './controls.tsx';

/** Returns a part whose code comes when it is shown first. A sentence says that a release has replaced it. */
export function wrapLazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const part = useSignal<{ Part: ComponentType<Props> } | undefined>(undefined);
    const isMissing = useSignal(false);
    useEffect(() => {
      load().then(
        (Part) => (part.value = { Part }),
        () => (isMissing.value = true),
      );
    }, []);
    if (isMissing.value) return <Missing />;
    if (part.value === undefined)
      return (
        <div class="deployment">
          <Skeleton lines={7} />
        </div>
      );
    return <part.value.Part {...props} />;
  };
}

function Missing() {
  return (
    <main class="empty">
      <h1 tabIndex={-1}>A part of this page can't be loaded</h1>
      <p>A newer release may have replaced it, or the connection is lost.</p>
      <Button class="main" label="Load the page again" press={() => location.reload()} />
    </main>
  );
}
