import { PageDialog } from '../interface/page-dialog.tsx';
import { hasSingleKeys, setSingleKeys } from '../interface/shortcuts.ts';
import { useObservable } from '../server/observable.ts';
import { texts } from '../texts/texts.ts';

const keys: readonly (readonly [keys: readonly string[], action: string])[] = [
  [['Ctrl K'], texts.keys.palette],
  [['Ctrl S'], texts.keys.save],
  [['?'], texts.keys.help],
  [['g', 'o'], texts.keys.overview],
  [['g', 'a'], texts.keys.apply],
  [['g', 'u'], texts.access.keys],
  [['g', 'p'], texts.keys.plugins],
  [['g', 'e'], texts.keys.events],
  [['g', 'h'], texts.keys.health],
  [['/'], texts.keys.filter],
  [['n'], texts.keys.create],
  [['j', 'k'], texts.keys.rows],
  [['x'], texts.keys.select],
  [['Enter'], texts.keys.open],
  [['e'], texts.keys.yaml],
];

export default function KeyList({ onClose }: { onClose: () => void }) {
  const isOn = useObservable(hasSingleKeys);
  return (
    <PageDialog title={texts.keys.title} onClose={onClose}>
      <dl className="keys">
        {keys.map(([pressed, action]) => (
          <div key={action}>
            <dt>
              {pressed.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input type="checkbox" checked={isOn} onChange={(event) => setSingleKeys(event.target.checked)} />
        {texts.keys.single}
      </label>
      <button type="button" className="button plain" onClick={onClose}>
        {texts.close}
      </button>
    </PageDialog>
  );
}
