package hypertext

// HTML is <html>.
func HTML(in ...Node) Node { return element{name: "html", in: in} }

// Head is <head>.
func Head(in ...Node) Node { return element{name: "head", in: in} }

// Body is <body>.
func Body(in ...Node) Node { return element{name: "body", in: in} }

// Header is <header>.
func Header(in ...Node) Node { return element{name: "header", in: in} }

// Main is <main>.
func Main(in ...Node) Node { return element{name: "main", in: in} }

// Footer is <footer>.
func Footer(in ...Node) Node { return element{name: "footer", in: in} }

// Nav is <nav>.
func Nav(in ...Node) Node { return element{name: "nav", in: in} }

// H1 is <h1>.
func H1(in ...Node) Node { return element{name: "h1", in: in} }

// H2 is <h2>.
func H2(in ...Node) Node { return element{name: "h2", in: in} }

// H3 is <h3>.
func H3(in ...Node) Node { return element{name: "h3", in: in} }

// P is <p>.
func P(in ...Node) Node { return element{name: "p", in: in} }

// Div is <div>.
func Div(in ...Node) Node { return element{name: "div", in: in} }

// Span is <span>.
func Span(in ...Node) Node { return element{name: "span", in: in} }

// Strong is <strong>.
func Strong(in ...Node) Node { return element{name: "strong", in: in} }

// Code is <code>.
func Code(in ...Node) Node { return element{name: "code", in: in} }

// Bdi is <bdi>.
func Bdi(in ...Node) Node { return element{name: "bdi", in: in} }

// Pre is <pre>.
func Pre(in ...Node) Node { return element{name: "pre", in: in} }

// Time is <time>.
func Time(in ...Node) Node { return element{name: "time", in: in} }

// Ul is <ul>.
func Ul(in ...Node) Node { return element{name: "ul", in: in} }

// Li is <li>.
func Li(in ...Node) Node { return element{name: "li", in: in} }

// Dl is <dl>.
func Dl(in ...Node) Node { return element{name: "dl", in: in} }

// Dt is <dt>.
func Dt(in ...Node) Node { return element{name: "dt", in: in} }

// Dd is <dd>.
func Dd(in ...Node) Node { return element{name: "dd", in: in} }

// Table is <table>.
func Table(in ...Node) Node { return element{name: "table", in: in} }

// Caption is <caption>.
func Caption(in ...Node) Node { return element{name: "caption", in: in} }

// THead is <thead>.
func THead(in ...Node) Node { return element{name: "thead", in: in} }

// TBody is <tbody>.
func TBody(in ...Node) Node { return element{name: "tbody", in: in} }

// TFoot is <tfoot>.
func TFoot(in ...Node) Node { return element{name: "tfoot", in: in} }

// Tr is <tr>.
func Tr(in ...Node) Node { return element{name: "tr", in: in} }

// Th is <th>.
func Th(in ...Node) Node { return element{name: "th", in: in} }

// Td is <td>.
func Td(in ...Node) Node { return element{name: "td", in: in} }

// Section is <section>.
func Section(in ...Node) Node { return element{name: "section", in: in} }

// Article is <article>.
func Article(in ...Node) Node { return element{name: "article", in: in} }

// Form is <form>.
func Form(in ...Node) Node { return element{name: "form", in: in} }

// Label is <label>.
func Label(in ...Node) Node { return element{name: "label", in: in} }

// Button is <button>.
func Button(in ...Node) Node { return element{name: "button", in: in} }

// Select is <select>.
func Select(in ...Node) Node { return element{name: "select", in: in} }

// Option is <option>.
func Option(in ...Node) Node { return element{name: "option", in: in} }

// Meter is <meter>.
func Meter(in ...Node) Node { return element{name: "meter", in: in} }

// Details is <details>.
func Details(in ...Node) Node { return element{name: "details", in: in} }

// Summary is <summary>.
func Summary(in ...Node) Node { return element{name: "summary", in: in} }

// Script is <script>.
func Script(in ...Node) Node { return element{name: "script", in: in} }

// TitleOf is <title>.
func TitleOf(in ...Node) Node { return element{name: "title", in: in} }

// Meta is <meta>.
func Meta(in ...Node) Node { return element{name: "meta", in: in, void: true} }

// Resource is <link>, by which a document names what it loads.
func Resource(in ...Node) Node { return element{name: "link", in: in, void: true} }

// Input is <input>.
func Input(in ...Node) Node { return element{name: "input", in: in, void: true} }

// Link is <a>, which leads to an address.
func Link(to Address, in ...Node) Node { return element{name: "a", in: Group{Href(to), Group(in)}} }
