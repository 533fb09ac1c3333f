// Lets the compiler judge all that ackdrop shows as literals of stripe's types. usage: decode.cjs FOLDER
//
// Its enumerations are open (`'a' | 'b' | OtherString`): they are closed here. A `…_decimal` is a `Decimal`, as the SDK makes of the text.
// known.tsv names the fields that the types lack, each with a reason.
const { readdirSync, readFileSync, mkdtempSync, symlinkSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const ts = require('typescript');

const LISTS = { list: 'ApiList', search_result: 'ApiSearchResult' };
const SPELLED = { invoiceitem: 'InvoiceItem', item: 'LineItem', line_item: 'InvoiceLineItem' };
// "Object literal may only specify known properties", with and without a guess at what was meant.
const EXCESS = [2353, 2561];
const OPTIONS = { strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.Node16, types: ['node'] };

/** The type of an object: `checkout.session` is `Stripe.Checkout.Session`. */
function typeOf(value) {
  const list = LISTS[value.object];
  if (list) {
    const types = [...new Set(value.data.map(typeOf))];
    return `Stripe.${list}<${types.join(' | ') || 'never'}>`;
  }
  const camel = (word) => word.split('_').map((part) => part[0].toUpperCase() + part.slice(1)).join('');
  const name = SPELLED[value.object] ?? value.object.split('.').map(camel).join('.');
  return value.deleted ? `Stripe.Deleted${name}` : `Stripe.${name}`;
}

/** Is one file as a literal: one property a line, so that a line of the compiler's is a place in the JSON. */
class Literal {
  constructor(name, value) {
    [this.name, this.value, this.untyped] = [name, value, []];
    this.write();
  }

  write() {
    this.lines = ["import Stripe from 'stripe';", 'declare function decimal(text: string): Stripe.Decimal;'];
    this.places = this.lines.map(() => []);
    this.put([], `export const shown: ${typeOf(this.value)} = `, this.value, ';');
    this.text = this.lines.join('\n');
  }

  put(place, before, value, after) {
    const line = (text) => {
      this.lines.push(text);
      this.places.push(place);
    };
    if (value === null || typeof value !== 'object') {
      const text = JSON.stringify(value);
      return line(before + (value !== null && /_decimal$/.test(place.at(-1)) ? `decimal(${text})` : text) + after);
    }
    line(before + (Array.isArray(value) ? '[' : '{'));
    for (const [key, each] of Object.entries(value)) {
      this.put([...place, key], Array.isArray(value) ? '' : `${JSON.stringify(key)}: `, each, ',');
    }
    line((Array.isArray(value) ? ']' : '}') + after);
  }

  place(diagnostic) {
    return this.places[ts.getLineAndCharacterOfPosition(diagnostic.file, diagnostic.start).line];
  }

  /** Takes out a property that the types lack, so that the compiler goes on to the next. */
  without(place) {
    const holder = place.slice(0, -1).reduce((value, key) => value[key], this.value);
    delete holder[place.at(-1)];
    this.untyped.push(place.join('.'));
  }
}

/** Asks the compiler about all files until none has a property that the types lack; yields what is left. */
function judge(folder, literals) {
  const byPath = new Map(literals.map((literal) => [path.join(folder, `${literal.name}.ts`), literal]));
  const host = ts.createCompilerHost(OPTIONS);
  const [read, parsed] = [host.readFile, new Map()];
  host.fileExists = ((exists) => (file) => byPath.has(file) || exists(file))(host.fileExists);
  host.readFile = (file) => byPath.get(file)?.text ?? read(file)?.replace(/type OtherString = [^;]*;/, 'type OtherString = never;');
  host.getSourceFile = (file, version) => {
    const text = byPath.get(file)?.text;
    const kept = parsed.get(file);
    if (kept && (text === undefined || kept.text === text)) return kept;
    const content = text ?? host.readFile(file);
    const source = content === undefined ? undefined : ts.createSourceFile(file, content, version, true);
    parsed.set(file, source);
    return source;
  };
  for (let program; ; ) {
    program = ts.createProgram([...byPath.keys()], OPTIONS, host, program);
    const found = [...byPath].map(([file, literal]) => {
      const source = program.getSourceFile(file);
      return [literal, [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]];
    });
    let again = false;
    for (const [literal, diagnostics] of found) {
      const excess = diagnostics.filter(({ code }) => EXCESS.includes(code));
      excess.forEach((diagnostic) => literal.without(literal.place(diagnostic)));
      if (excess.length) literal.write();
      again ||= excess.length > 0;
    }
    if (!again) return found;
  }
}

/** Holds the fields that the types lack, each with its reason; one that explains nothing any more is an error too. */
class Known {
  constructor() {
    const rows = readFileSync(path.join(__dirname, 'known.tsv'), 'utf8').split('\n').filter((row) => row && !row.startsWith('#'));
    this.rows = rows.map((row) => row.split('\t')[0]);
    this.used = new Set();
  }

  explains(name) {
    const matches = (row) => new RegExp(`^${row.replace(/[.[\]]/g, '\\$&').replaceAll('*', '.*')}$`).test(name);
    const found = this.rows.filter(matches);
    found.forEach((row) => this.used.add(row));
    return found.length > 0;
  }
}

function main(shapes) {
  const names = readdirSync(shapes).filter((name) => name.endsWith('.json')).sort();
  const literals = names.map((name) => new Literal(path.basename(name, '.json'), JSON.parse(readFileSync(path.join(shapes, name), 'utf8'))));
  const folder = mkdtempSync(path.join(tmpdir(), 'literals-'));
  symlinkSync(process.env.NODE_PATH, path.join(folder, 'node_modules'));
  const known = new Known();
  const report = (what, problems) => {
    problems = problems.map((problem) => problem.replace(/\s+/g, ' '));
    console.log(problems.length ? `FAIL node decode ${what}: ${problems.join('; ')}` : `ok   node decode ${what}`);
    if (problems.length) process.exitCode = 1;
  };
  try {
    for (const [literal, diagnostics] of judge(folder, literals)) {
      const unknown = ([place]) => !known.explains(`${literal.name} ${place}`);
      const untyped = literal.untyped.map((place) => [place, 'is untyped']);
      const wrong = diagnostics.map((d) => [literal.place(d).join('.'), ts.flattenDiagnosticMessageText(d.messageText, ' ').slice(0, 400)]);
      const empty = literal.value.object in LISTS && literal.value.data.length === 0 ? ['data holds nothing'] : [];
      report(literal.name, [...[...untyped, ...wrong].filter(unknown).map(([place, what]) => `${place} ${what}`), ...empty]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const idle = known.rows.filter((row) => !known.used.has(row));
  if (idle.length) report('known.tsv', idle.map((row) => `\`${row}\` explains nothing any more`));
}

main(process.argv[2]);
