// Plays OpenCode to the bridge: loads it as a plugin, calls its hooks as told on standard input, and
// tells on standard output what they did and what the bridge asked of OpenCode's API. One JSON object a line.
import readline from "node:readline"

const say = (message) => process.stdout.write(JSON.stringify(message) + "\n")
const answers = new Map(Object.entries(JSON.parse(process.env.HOST_ANSWERS ?? "{}")))
const api = (name) => async (given) => {
  say({ api: name, given: given ?? null })
  const answer = answers.get(name)
  if (answer?.wait) await new Promise((resolve) => released.set(name, resolve))
  if (answer?.error) return { error: answer.error, response: { ok: false, status: 500 } }
  return { data: answer?.data ?? true, response: { ok: true } }
}
const released = new Map()
const all = (prefix, ...names) => Object.fromEntries(names.map((name) => [name, api(prefix + name)]))
const client = {
  session: all("session.", "abort", "promptAsync", "prompt", "status", "messages", "create", "delete"),
  tui: all("tui.", "showToast"),
  _client: all("http.", "get", "post", "patch"),
}

const { default: plugin } = await import(process.argv[2])
const hooks = await plugin({ client, directory: "/project" })
say({ loaded: Object.keys(hooks), tools: Object.keys(hooks.tool ?? {}), env: process.env })

const functions = {
  call: async ({ hook, input, output }) => {
    const changed = output ?? {}
    await hooks[hook](input, changed)
    return changed
  },
  configured: async ({ config }) => {
    await hooks.config(config)
    return config
  },
  event: async ({ event }) => hooks.event({ event }),
  tool: async ({ name, args, context }) => hooks.tool[name].execute(args, context),
  answer: async ({ name, answer }) => void answers.set(name, answer),
  release: async ({ name }) => released.get(name)(),
  block: async ({ ms }) => {
    const until = Date.now() + ms
    while (Date.now() < until); // the whole process stands still
  },
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, do: what, ...rest } = JSON.parse(line)
  functions[what](rest).then(
    (result) => say({ id, result: result ?? null }),
    (error) => say({ id, error: String(error.message) }),
  )
}
process.exit(0)
