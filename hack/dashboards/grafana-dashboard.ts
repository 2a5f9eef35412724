/** One panel: its title, unit, and lines by legend. */
export interface PanelPlan {
  readonly title: string;
  /** A unit of Grafana: `s`, `bytes`, `reqps`, `percentunit`, `short`. */
  readonly unit: string;
  /** PromQL by legend; a legend may name labels: `{{instance}}`. */
  readonly lines: Readonly<Record<string, string>>;
  /** Shows one large number instead of lines over time. */
  readonly isNumber?: boolean;
  readonly description?: string;
}

export interface RowPlan {
  readonly title: string;
  readonly panels: readonly PanelPlan[];
}

export interface DashboardPlan {
  readonly uid: string;
  readonly title: string;
  /** A pattern for the component of `svc_build_info`, which selects the processes. */
  readonly components: string;
  readonly rows: readonly RowPlan[];
}

interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

const datasource = { type: 'prometheus', uid: '${datasource}' };
const width = 24;

/**
 * The dashboard in Grafana's model. Source: Grafana 10, dashboard JSON model, schema version 38; later versions read
 * it.
 */
export function grafanaDashboard({ uid, title, components, rows }: DashboardPlan): object {
  return {
    uid,
    title,
    tags: ['svc'],
    schemaVersion: 38,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: '',
    links: [
      {
        type: 'dashboards',
        title: 'svc',
        tags: ['svc'],
        asDropdown: false,
        includeVars: false,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        url: '',
        tooltip: '',
      },
    ],
    annotations: { list: [] },
    templating: { list: variables(components) },
    panels: panelsOf(rows),
  };
}

function variables(components: string): object[] {
  const ofQuery = (name: string, query: string) => ({
    name,
    label: name,
    type: 'query',
    datasource,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { text: ['All'], value: ['$__all'] },
  });
  return [
    {
      name: 'datasource',
      label: 'datasource',
      type: 'datasource',
      query: 'prometheus',
      refresh: 1,
      current: {},
      hide: 0,
    },
    // A missing label is empty, and no list of values contains that.
    { ...ofQuery('namespace', 'label_values(svc_build_info, namespace)'), allValue: '.*' },
    // "All" selects the listed processes only: other programs have metrics with the same names.
    ofQuery('instance', `label_values(svc_build_info{namespace=~"$namespace", component=~"${components}"}, instance)`),
  ];
}

function panelsOf(rows: readonly RowPlan[]): object[] {
  const panels: object[] = [];
  let y = 0;
  const add = (panel: object): number => panels.push({ id: panels.length + 1, ...panel });
  for (const { title, panels: plans } of rows) {
    add({ type: 'row', title, collapsed: false, panels: [], gridPos: { x: 0, y, w: width, h: 1 } });
    y += 1;
    let x = 0;
    let height = 0;
    for (const plan of plans) {
      const size = plan.isNumber === true ? { w: 4, h: 4 } : { w: 8, h: 8 };
      if (x + size.w > width) [x, y] = [0, y + height];
      add(drawn(plan, { x, y, ...size }));
      [x, height] = [x + size.w, size.h];
    }
    y += height;
  }
  return panels;
}

function drawn({ title, unit, lines, isNumber = false, description }: PanelPlan, gridPos: Place): object {
  const targets = Object.entries(lines).map(([legendFormat, expr], i) => ({
    refId: String.fromCharCode(65 + i),
    datasource,
    expr,
    legendFormat,
    ...(isNumber ? { instant: true } : { range: true }),
  }));
  const shared = { title, ...(description === undefined ? {} : { description }), datasource, gridPos, targets };
  if (isNumber) {
    return {
      type: 'stat',
      ...shared,
      fieldConfig: { defaults: { unit }, overrides: [] },
      options: {
        reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
        colorMode: 'value',
        graphMode: 'none',
        textMode: Object.keys(lines).length > 1 || lines['{{version}}'] !== undefined ? 'value_and_name' : 'value',
      },
    };
  }
  const custom = { drawStyle: 'line', lineWidth: 1, fillOpacity: 10, showPoints: 'never', spanNulls: false };
  return {
    type: 'timeseries',
    ...shared,
    fieldConfig: { defaults: { unit, min: 0, custom }, overrides: [] },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };
}
