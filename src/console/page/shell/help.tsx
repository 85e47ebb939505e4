import { Dialog } from './dialog.tsx';
import { KEY_COMMANDS } from './key-commands.ts';

/** The keys of the page. */
export function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <table class="keys">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Does</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(KEY_COMMANDS).map(([name, { keys, does }]) => (
            <tr key={name}>
              <td>
                <kbd>{keys}</kbd>
              </td>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>Keys of one letter can be turned off in the settings.</p>
    </Dialog>
  );
}
