// The bridge: an OpenCode plugin that connects the agent to its supervisor.
//
// It carries no judgement of its own. Events, questions (the gate before each tool call, agent tools,
// slash commands) and the results of orders go out; answers and orders come in; both as one JSON object
// a line over one kept socket. Without a connection the agent runs on as if the bridge were not there.
//
// OpenCode accepts a plugin file only if everything it exports is a function.
import { randomBytes } from "node:crypto"
import { Link, bound, describe, pick, remember, takeBoot, within } from "../link.js"

const VERSION_MS = 1000 // the greeting does not wait longer for OpenCode to tell its version
const TITLE_PROMPT = /title generator/i
const NATIVE = new Set([
  "session.created", "session.updated", "session.deleted", "session.status", "session.idle", "session.error",
  "session.compacted", "message.updated", "message.part.updated", "message.part.delta",
  "permission.asked", "permission.replied", "question.asked", "question.replied", "question.rejected",
])

const boot = takeBoot()

const instances = new Map() // directory -> the client OpenCode gave us for it
const homes = new Map() // session -> directory
const stops = new Map() // session -> how often its turn ended while we watched
const issued = new Map() // id of a message we sent -> effect that sent it
const contexts = new Map() // session ("" = all) -> {system, compaction, host_continues}
const audits = new Map() // effect of an audit under way -> what stops it
const ours = new Set() // sessions whose present turn answers a message of ours
const aborts = new Map() // session -> the abort under way
const running = new Map() // tool call -> last status forwarded
let launchPrompt = boot?.prompt // effect whose prompt this process was started with
let link

const stopped = (session) => remember(stops, session, (stops.get(session) ?? 0) + 1)

/** The parts of a native event that the supervisor reads; undefined when it needs to know nothing. */
const slim = ({ type, properties: p }) => {
  if (type === "session.created" || type === "session.updated" || type === "session.deleted")
    return { sessionID: p.sessionID ?? p.info?.id, info: pick(p.info, "id", "parentID", "directory", "version", "agent") }
  if (type === "message.updated")
    return { sessionID: p.sessionID ?? p.info?.sessionID, info: pick(p.info, "id", "role", "parentID", "agent", "mode", "model",
      "providerID", "modelID", "variant", "tokens", "cost", "finish", "error", "summary", "time") }
  if (type !== "message.part.updated") return p
  const { part } = p
  if (part.type === "tool") {
    const { status } = part.state
    if (running.get(part.callID) === status) return undefined // the same again, with more output in its metadata
    remember(running, part.callID, status)
    const state = pick(part.state, "status", "input", "output", "error", "time")
    const metadata = pick(part.state.metadata, "exit", "interrupted", "sessionId", "truncated")
    return { sessionID: part.sessionID, part: { ...pick(part, "id", "messageID", "type", "tool", "callID"), state: { ...state, metadata } } }
  }
  const kept = pick(part, "id", "messageID", "type", "text", "synthetic", "ignored", "metadata", "time", "files", "reason", "tokens", "cost", "auto")
  return { sessionID: part.sessionID, part: kept }
}

/** OpenCode's own version, as it says itself; empty if it does not say so at once. */
const version = async () => {
  const asked = instances.values().next().value?._client.get({ url: "/global/health" })
  const answer = await within(VERSION_MS, asked).catch(() => undefined)
  return String(answer?.data?.version ?? "")
}

// --- orders -----------------------------------------------------------------------------------

const clientOf = (session) => {
  const client = instances.get(homes.get(session)) ?? instances.values().next().value
  if (!client) throw new Error("no instance of the agent is running")
  return client
}

const call = async (promise) => {
  const { data, error, response } = await promise
  if (error !== undefined || response?.ok === false) throw error ?? new Error("HTTP " + response.status)
  return data
}

const statuses = async () => {
  const found = {}
  for (const client of instances.values()) Object.assign(found, await call(client.session.status()).catch(() => ({})))
  return found
}

/** A message id that sorts where OpenCode's own would: 48 bits of time, then random. */
const messageID = (() => {
  let last = 0n
  return () => {
    const now = BigInt(Date.now()) << 12n
    last = now > last ? now : last + 1n
    const time = (last & 0xffffffffffffn).toString(16).padStart(12, "0")
    return "msg_" + time + randomBytes(11).toString("base64url").replace(/[-_]/g, "0").slice(0, 14)
  }
})()

const orders = {
  async abort({ session }) {
    stopped(session) // a call that still waits at the gate must not run when its turn is over
    if (!instances.size) return // the agent is on its way out: nothing runs
    const abort = call(clientOf(session).session.abort({ path: { id: session } }))
    aborts.set(session, abort.catch(() => {}).finally(() => aborts.delete(session)))
    await abort
  },

  async prompt({ id, session, text, agent, model, variant }) {
    const message = messageID()
    remember(issued, message, id)
    const parts = [{ type: "text", text, synthetic: true, metadata: { loopguard: id } }]
    const body = { messageID: message, parts, ...(agent && { agent }), ...(model && { model }), ...(variant && { variant }) }
    await call(clientOf(session).session.promptAsync({ path: { id: session }, body }))
  },

  async read({ session }) {
    if (!instances.size) return { status: "idle" }
    const client = clientOf(session)
    const [busy, messages] = await Promise.all([
      call(client.session.status()),
      call(client.session.messages({ path: { id: session }, query: { limit: 20 } })),
    ])
    const newest = (role) => messages.findLast(({ info }) => info.role === role)
    const user = newest("user")
    return {
      status: busy[session]?.type ?? "idle",
      assistant: newest("assistant")?.info.id ?? "",
      user: user && { id: user.info.id, agent: user.info.agent, parts: user.parts.map((part) => pick(part, "type", "synthetic", "metadata")) },
    }
  },

  async trim({ session, message, part: id, keep, note }) {
    const http = clientOf(session)._client
    const url = `/session/${session}/message/${message}`
    const { parts } = await call(http.get({ url }))
    const part = parts.find((candidate) => candidate.id === id)
    if (!part) throw new Error("the part is gone")
    const text = Array.from(part.text).slice(0, keep).join("") + note
    await call(http.patch({ url: `${url}/part/${id}`, body: { ...part, text }, headers: { "content-type": "application/json" } }))
  },

  /** A child session that may only read. Its last words are the answer; nothing of it is kept. */
  async audit({ id, session, prompt, rules, timeout_ms }) {
    const { session: sessions } = clientOf(session)
    const title = "Verification of the goal" // without one OpenCode asks the model for a title
    const child = await call(sessions.create({ body: { parentID: session, title, permission: rules } }))
    const stop = () => call(sessions.abort({ path: { id: child.id } })).catch(() => {})
    audits.set(id, stop)
    let late = false
    const timer = setTimeout(() => ((late = true), stop()), timeout_ms)
    try {
      const body = { parts: [{ type: "text", text: prompt }] }
      const { info, parts } = await call(sessions.prompt({ path: { id: child.id }, body }))
      if (late) throw new Error("timed out after " + timeout_ms / 1000 + " s")
      if (info.error) throw info.error
      return { text: parts.filter((part) => part.type === "text").map((part) => part.text).join("\n") }
    } finally {
      clearTimeout(timer)
      audits.delete(id)
      await call(sessions.delete({ path: { id: child.id } })).catch(() => {})
    }
  },

  async cancel({ audit }) {
    await audits.get(audit)?.()
  },

  async toast({ session, ...body }) {
    await call(clientOf(session).tui.showToast({ body }))
  },

  async permission({ session, request, reply, text }) {
    const body = { reply, ...(text && { message: text }) }
    const http = clientOf(session)._client
    await call(http.post({ url: `/permission/${request}/reply`, body, headers: { "content-type": "application/json" } }))
  },

  async context({ session, ...context }) {
    remember(contexts, session, context)
  },
}

const perform = async (order) => {
  if (!Object.hasOwn(orders, order.op)) throw new Error("unknown order " + order.op)
  return await orders[order.op](order)
}

// --- hooks ------------------------------------------------------------------------------------

const onEvent = (event, directory) => {
  const { type, properties: p } = event
  const session = p?.sessionID ?? p?.info?.id
  if (session) remember(homes, session, directory)
  if (type === "session.idle") ours.delete(session)
  if (type === "session.idle" || (type === "session.error" && session)) stopped(session)
  if (type === "session.deleted") for (const map of [stops, contexts, homes]) map.delete(session)
  if (type === "message.part.delta") return onDelta({ type, properties: bound(p) })
  if (!NATIVE.has(type)) return
  const properties = slim(event)
  if (properties) link.send({ type: "event", event: { type, properties: bound(properties) } })
}

const onDelta = (event) => {
  const { partID, field } = event.properties
  link.delta(partID + " " + field, { type: "event", event }, (held, next) => (held.event.properties.delta += next.event.properties.delta))
}

const gate = async ({ tool, sessionID: session, callID }, args) => {
  const before = stops.get(session)
  const answer = await link.ask({ type: "gate", session, call: callID, tool, args: bound(args ?? {}) }, boot.gate_timeout_ms)
  if (stops.get(session) !== before) {
    // OpenCode would run the call now, although its turn is over
    link.send({ type: "cancelled", session, call: callID })
    throw new Error("The turn was stopped before this call ran.")
  }
  if (answer?.allow === false) throw new Error(answer.text)
}

const onUserMessage = async ({ message, parts }) => {
  let effect = issued.get(message.id)
  if (!effect && launchPrompt?.session === message.sessionID) {
    effect = launchPrompt.effect
    launchPrompt = undefined
    for (const part of parts) if (part.type === "text") Object.assign(part, { synthetic: true, metadata: { loopguard: effect } })
    // whatever has to be put right in the history before the agent reads it
    await within(boot.gate_timeout_ms, link.welcomed)
  }
  const real = parts.filter((part) => part.type === "text" && !part.synthetic)
  link.send({
    type: "message", session: message.sessionID, message: message.id, effect: effect ?? "", real: real.length > 0,
    text: bound(real.map((part) => part.text).join("\n")), agent: message.agent ?? "",
    model: pick(message.model, "providerID", "modelID"), variant: message.model?.variant ?? message.variant ?? "",
  })
  const session = message.sessionID
  if (effect) ours.add(session)
  // The person's word may end a turn of ours. OpenCode would drop a message that comes while it aborts.
  else if (ours.has(session)) await link.ask({ type: "sync" }, boot.gate_timeout_ms)
  await aborts.get(session)
}

const contextOf = (session) => [contexts.get(""), contexts.get(session)].filter(Boolean)

const agentTools = () => Object.fromEntries(boot.tools.map(({ name, description, args, patience_ms }) => [name, {
  description,
  args,
  execute: async (given, { sessionID, callID }) => {
    const question = { type: "ask", session: sessionID, call: callID, operation: name, arguments: bound(given ?? {}), surface: "tool" }
    const answer = await link.ask(question, patience_ms)
    return answer ? answer.text : "The supervisor is not connected; nothing was done."
  },
}]))

/** A slash command is answered by us; throwing keeps OpenCode from sending it to the model. */
const onCommand = async ({ command, sessionID, arguments: text }) => {
  if (!boot.commands.some(({ name }) => name === command)) return
  const question = { type: "ask", session: sessionID, operation: command, arguments: { text }, surface: "slash" }
  const answer = await link.ask(question, boot.ask_timeout_ms)
  const message = answer?.text || (answer ? "Done." : "The supervisor is not connected.")
  const body = { title: "loopguard", message, variant: answer?.ok ? "info" : "warning", duration: 10000 }
  await orders.toast({ session: sessionID, ...body }).catch(() => {})
  throw new Error(message)
}

const onConfig = (config) => {
  // OpenCode's own repetition question would wait for ever in an unattended run; a setting of the user's stands
  if (typeof config.permission === "string") config.permission = { "*": config.permission }
  config.permission ??= {}
  config.permission.doom_loop ??= "allow"
  config.command ??= {}
  for (const { name, description } of boot.commands) config.command[name] ??= { description, template: "$ARGUMENTS" }
}

export default async function loopguard({ client, directory }) {
  if (!boot) return {} // an agent inside a guarded agent: its supervisor is not ours
  instances.set(directory, client)
  link ??= new Link(boot, { version, perform, resync: statuses })
  return {
    config: async (config) => onConfig(config),
    event: async ({ event }) => onEvent(event, directory),
    "tool.execute.before": (input, output) => gate(input, output.args),
    "chat.message": (_, output) => onUserMessage(output),
    "command.execute.before": (input) => onCommand(input),
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (TITLE_PROMPT.test(output.system[0] ?? "")) return
      for (const { system } of contextOf(sessionID)) if (system) output.system.push(system)
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      link.send({ type: "compacting", session: sessionID })
      for (const { compaction } of contextOf(sessionID)) if (compaction) output.context.push(compaction)
    },
    "experimental.compaction.autocontinue": async ({ sessionID }, output) => {
      if (contextOf(sessionID).some(({ host_continues }) => host_continues === false)) output.enabled = false
    },
    "shell.env": async (_, output) => Object.assign(output.env, boot.shell ?? {}),
    tool: agentTools(),
    dispose: async () => void instances.delete(directory),
  }
}
