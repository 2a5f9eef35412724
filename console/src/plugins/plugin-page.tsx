import type { AnyObject, Stored } from '@svc/client';
import { Link } from 'wouter';
import { DataTable } from '../interface/data-table.tsx';
import { Fact } from '../interface/fact.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { StreamNote } from '../interface/stream-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { GoneNote } from '../object/gone-note.tsx';
import { Conditions, ObjectEvents } from '../object/object-overview.tsx';
import { useLiveObject } from '../object/use-live-object.ts';
import { asPlugin, pluginInfo, type PluginObject } from '../server/plugin-info.ts';
import { objectLink } from '../shell/links.ts';
import { NamedObject } from '../shell/named-object.tsx';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { texts } from '../texts/texts.ts';
import { PluginContent } from './plugin-content.tsx';
import { pluginLink } from './plugin-links.ts';
import { PhaseMark } from './phase-mark.tsx';
import { PluginSwitch } from './plugin-switch.tsx';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './plugins.css';

/** One plugin: its state, what it may do, what it brought. */
export default function PluginPage({ name }: { name: string }) {
  const { object, isGone, failure, stream } = useLiveObject(pluginInfo, '', name);
  const title = object === undefined ? name : (asPlugin(object).spec.displayName ?? name);
  useTitle(title);
  return (
    <>
      <p className="path">
        <Link href="/plugins">{texts.plugins.title}</Link>
      </p>
      <div className="page-head">
        <h1>{title}</h1>
        {object === undefined ? undefined : <PhaseMark plugin={asPlugin(object)} />}
        <StreamNote stream={stream} />
        <Link href={objectLink(pluginInfo, { name })}>{texts.plugins.asObject}</Link>
        <SnippetAction request={{ model: pluginInfo, namespace: '', name }} />
        {object === undefined ? undefined : <PluginSwitch plugin={asPlugin(object)} />}
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {isGone ? <GoneNote /> : undefined}
      {object === undefined ? undefined : <PluginView object={object} />}
    </>
  );
}

function PluginView({ object }: { object: Stored<AnyObject> }) {
  const plugin = asPlugin(object);
  return (
    <>
      {plugin.spec.description === undefined ? undefined : <p>{plugin.spec.description}</p>}
      <Facts plugin={plugin} />
      <Conditions object={object} />
      <PluginContent plugin={plugin} />
      <Permissions plugin={plugin} />
      <ObjectEvents object={object} />
    </>
  );
}

function Facts({ plugin }: { plugin: PluginObject }) {
  const { version, requires, dependencies = {}, settings } = plugin.spec;
  const { restarts = 0, version: running } = plugin.status ?? {};
  const needed = Object.entries(dependencies);
  return (
    <dl className="facts-list">
      <Fact name={texts.plugins.columns.version}>{version}</Fact>
      {running === undefined || running === version ? undefined : <Fact name={texts.plugins.running}>{running}</Fact>}
      {requires === undefined ? undefined : <Fact name={texts.plugins.requires}>{requires}</Fact>}
      {needed.length === 0 ? undefined : (
        <Fact name={texts.plugins.dependencies}>
          <ul>
            {needed.map(([name, range]) => (
              <li key={name}>
                <Link href={pluginLink(name)}>{name}</Link> {range}
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {settings === undefined ? undefined : (
        <Fact name={texts.plugins.settings}>
          <NamedObject {...settings} />
        </Fact>
      )}
      {restarts === 0 ? undefined : <Fact name={texts.plugins.restarts}>{texts.number(restarts)}</Fact>}
    </dl>
  );
}

function Permissions({ plugin }: { plugin: PluginObject }) {
  const { permissions = [] } = plugin.spec;
  return (
    <section aria-labelledby="permissions">
      <h2 id="permissions">{texts.plugins.permissions}</h2>
      {permissions.length === 0 ? (
        <p>{texts.plugins.noPermissions}</p>
      ) : (
        <DataTable
          label={texts.plugins.permissions}
          columns={[texts.plugins.verbs, texts.plugins.resources, texts.plugins.groups]}
          rows={permissions.map(({ verbs, resources, apiGroups, resourceNames = [] }) => [
            verbs.join(', '),
            [...resources, ...resourceNames].join(', '),
            apiGroups.map((group) => (group === '' ? texts.navigation.core : group)).join(', '),
          ])}
        />
      )}
    </section>
  );
}
