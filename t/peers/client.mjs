// SPDX-License-Identifier: Apache-2.0
//
// What @kubernetes/client-node (t/peers/npm) does on a server: node client.mjs KUBECONFIG FORGET prints a line for each step,
// without what differs from server to server (uids, times, versions). It talks through a proxy of its own, so that it can
// cut its connections. FORGET is a shell command after which the server knows no old version any more.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const home = createRequire(path.join(process.env.CLIENT_NODE, 'package.json'));
const k8s = await import(pathToFileURL(home.resolve('@kubernetes/client-node')));
const [file, forget] = process.argv.slice(2);
const NS = 'default';
const say = (what, value = '') => console.log(what, typeof value === 'string' ? value : JSON.stringify(value));
// Whatever comes is waited for; nothing that comes takes this long.
setTimeout(() => { say('too late'); process.exit(1); }, 100000).unref();

const config = new k8s.KubeConfig();
config.loadFromFile(file);
const server = new URL(config.getCurrentCluster().server);

const sockets = new Set();
const proxy = net.createServer((near) => {
	const far = net.connect(server.port, '127.0.0.1');
	for (const [one, other] of [[near, far], [far, near]]) {
		sockets.add(one);
		one.pipe(other);
		one.on('error', () => other.destroy());
		one.on('close', () => { sockets.delete(one); other.destroy(); });
	}
});
await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
config.clusters = config.clusters.map((cluster) => ({ ...cluster,
	server: `${server.protocol}//127.0.0.1:${proxy.address().port}` }));

const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = config.makeApiClient(k8s.CustomObjectsApi);

async function refused(what, call) {
	try {
		await call;
		say(what, 'taken');
	} catch (error) {
		// Its body is the text of a Status.
		say(what, `${error.code} ${JSON.parse(error.body).reason}`);
	}
}
const configMap = (name, more) => ({ metadata: { name, labels: { app: 'js' } }, data: { a: '1' }, ...more });
const create = (name, more) => core.createNamespacedConfigMap({ namespace: NS, body: configMap(name, more) });
const read = (name) => core.readNamespacedConfigMap({ namespace: NS, name });
const remove = (name) => core.deleteNamespacedConfigMap({ namespace: NS, name });
const list = (more) => core.listNamespacedConfigMap({ namespace: NS, labelSelector: 'app=js', ...more });
const patch = (name, body, how) => core.patchNamespacedConfigMap({ namespace: NS, name, body },
	k8s.setHeaderOptions('Content-Type', how));

say('created', (await create('one')).data);
const first = await list();
say('list', first.items.map((item) => item.metadata.name));
await refused('twice', create('one'));
await refused('none', read('none'));
await refused('no name', core.createNamespacedConfigMap({ namespace: NS, body: { data: {} } }));
say('dry run', (await core.createNamespacedConfigMap({ namespace: NS, body: configMap('dry'), dryRun: 'All' })).metadata.name);
await refused('which left nothing', read('dry'));
say('merge patch', (await patch('one', { data: { b: '2', a: null } }, k8s.PatchStrategy.MergePatch)).data);
say('strategic patch', (await patch('one', { data: { b: '3' } }, k8s.PatchStrategy.StrategicMergePatch)).data);
say('json patch', (await patch('one', [{ op: 'add', path: '/data/c', value: '3' }], k8s.PatchStrategy.JsonPatch)).data);
await refused('json patch of nothing', patch('one', [{ op: 'remove', path: '/data/z' }], k8s.PatchStrategy.JsonPatch));
const body = await read('one');
const stale = body.metadata.resourceVersion;
body.data.d = '4';
say('replaced', (await core.replaceNamespacedConfigMap({ namespace: NS, name: 'one', body })).data);
body.metadata.resourceVersion = stale;
await refused('of an old version', core.replaceNamespacedConfigMap({ namespace: NS, name: 'one', body }));
await create('two', { immutable: true, binaryData: { bytes: 'AAEC' } });
say('bytes', (await read('two')).binaryData);
await refused('immutable', patch('two', { data: { a: '2' } }, k8s.PatchStrategy.MergePatch));
say('deleted', (await remove('two')).status);
const pages = [];
await create('three');
await create('four');
for (let next; next !== ''; ) {
	const page = await list({ limit: 2, _continue: next });
	pages.push(page.items.map((item) => item.metadata.name));
	next = page.metadata._continue ?? '';
}
say('pages', pages);

// A watch from the first list on: its events, and that it ends when the server ends it.
const seen = [];
await new Promise((done) => {
	new k8s.Watch(config).watch(`/api/v1/namespaces/${NS}/configmaps`,
		{ labelSelector: 'app=js', resourceVersion: first.metadata.resourceVersion, timeoutSeconds: 2 },
		(type, object) => seen.push(`${type} ${object.metadata.name}`), done);
});
say('watched from the list on', seen);

// An informer: what it has told, in order, and what it holds.
const informer = k8s.makeInformer(config, `/api/v1/namespaces/${NS}/configmaps`, () => list(), 'app=js');
const told = [];
let waiter = () => {};
for (const what of ['add', 'update', 'delete', 'connect', 'error']) {
	informer.on(what, (about) => {
		told.push(what === 'connect' || what === 'error' ? what : `${what} ${about.metadata.name}`);
		waiter();
	});
}
async function tells(what, ...wanted) {
	for (const one of wanted) while (!told.includes(one)) await new Promise((done) => { waiter = done; });
	say(what, told.splice(0));
}
const holds = () => say('it holds', informer.list(NS).map((item) => item.metadata.name).sort());
await informer.start();
await tells('informer starts', 'add three');
await create('five');
await tells('one is made', 'add five');
await patch('five', { data: { a: '5' } }, k8s.PatchStrategy.MergePatch);
await tells('changed', 'update five');
say('with', informer.get('five', NS).data);
await remove('five');
await tells('deleted', 'delete five');
holds();

// Its connection breaks; what happens meanwhile is told when it starts again, from where it was.
for (const socket of sockets) socket.destroy();
await tells('its connection breaks', 'error');
await create('six');
await patch('one', { data: { a: '6' } }, k8s.PatchStrategy.MergePatch);
await remove('three');
await informer.start();
await tells('it starts again', 'add six', 'update one', 'delete three');
holds();

// A version that is too old is told as 410 in the watch; so it lists anew and tells what is different.
await informer.stop();
await create('seven');
await remove('six');
execFileSync('sh', ['-c', forget], { stdio: ['ignore', 'ignore', 'inherit'] });
told.splice(0);
informer.resourceVersion = first.metadata.resourceVersion;
await informer.start();
await tells('from a version that is too old', 'add seven', 'delete six');
holds();
await informer.stop();

const template = { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const deployment = await apps.createNamespacedDeployment({ namespace: NS,
	body: { metadata: { name: 'd' }, spec: { selector: { matchLabels: { app: 'd' } }, template } } });
say('deployment', [deployment.spec.replicas, deployment.spec.strategy.type,
	deployment.metadata.creationTimestamp instanceof Date]);
say('scale', (await apps.patchNamespacedDeploymentScale({ namespace: NS, name: 'd', body: { spec: { replicas: 3 } } },
	k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch))).spec.replicas);
await refused('wrong', apps.patchNamespacedDeployment({ namespace: NS, name: 'd', body: { spec: { replicas: -1 } } },
	k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch)));
await apps.deleteNamespacedDeployment({ namespace: NS, name: 'd', propagationPolicy: 'Background' });
await objects.listClusterCustomObject({ group: 'example.com', version: 'v1', plural: 'nothings' })
	.catch((error) => say('objects of no kind', error.code));
await core.deleteCollectionNamespacedConfigMap({ namespace: NS, labelSelector: 'app=js' });
say('is empty', (await list()).items);
process.exit(0);
