import { isInOrder, type PluginObject } from '../server/plugin-info.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './plugin-phase.css';

/** The phase of a plugin, marked if something is not as it should be. */
export function PhaseMark({ plugin }: { plugin: PluginObject }) {
  const { phase = '' } = plugin.status ?? {};
  const look = phase === 'Failed' ? 'bad' : !isInOrder(plugin) ? 'warning' : phase === 'Started' ? 'good' : '';
  return <span className={`plugin-phase ${look}`}>{phase}</span>;
}
