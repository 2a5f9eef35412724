import { Link } from 'wouter';
import { DataTable } from '../interface/data-table.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { StreamNote } from '../interface/stream-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { faultsOf, pluginInfo, type PluginObject } from '../server/plugin-info.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { texts } from '../texts/texts.ts';
import { pluginLink } from './plugin-links.ts';
import { PhaseMark } from './phase-mark.tsx';
import { PluginSwitch } from './plugin-switch.tsx';
import { usePlugins } from './use-plugins.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './plugins.css';

/** All plugins of the server, as they are now. */
export default function PluginsPage() {
  useTitle(texts.plugins.title);
  const { value: plugins, failure, stream } = usePlugins();
  return (
    <>
      <div className="page-head">
        <h1>{texts.plugins.title}</h1>
        <StreamNote stream={stream} />
        <SnippetAction request={{ model: pluginInfo, namespace: '' }} />
      </div>
      <p>{texts.plugins.intro}</p>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {plugins === undefined && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {plugins?.length === 0 ? <p>{texts.plugins.none}</p> : undefined}
      {plugins === undefined || plugins.length === 0 ? undefined : <PluginTable plugins={plugins} />}
    </>
  );
}

function PluginTable({ plugins }: { plugins: readonly PluginObject[] }) {
  const { columns } = texts.plugins;
  return (
    <DataTable
      label={texts.plugins.title}
      columns={[columns.name, columns.version, columns.phase, columns.fault, columns.action]}
      keyOf={(at) => plugins[at]!.metadata.name}
      rows={plugins.map((plugin) => {
        const { name } = plugin.metadata;
        return [
          <Link key="name" href={pluginLink(name)}>
            {plugin.spec.displayName ?? name}
          </Link>,
          plugin.spec.version,
          <PhaseMark key="phase" plugin={plugin} />,
          <Faults key="faults" plugin={plugin} />,
          <PluginSwitch key="switch" plugin={plugin} />,
        ];
      })}
    />
  );
}

function Faults({ plugin }: { plugin: PluginObject }) {
  return (
    <ul className="plugin-faults">
      {faultsOf(plugin).map((fault) => (
        <li key={fault}>{fault}</li>
      ))}
    </ul>
  );
}
