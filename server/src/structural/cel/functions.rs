//! The functions and operators of expressions: what they take and what they come to.
//!
//! A function that is not here is refused when an expression is compiled.

use super::shape::{Kind, Shape};
use crate::structural::node::ListType;

/// A function or operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Negate,
    Not,
    In,
    Index,
    OptionalIndex,
    Size,
    Contains,
    StartsWith,
    EndsWith,
    CharAt,
    IndexOf,
    LastIndexOf,
    LowerAscii,
    UpperAscii,
    Replace,
    Split,
    Substring,
    Trim,
    Join,
    ToInt,
    ToUint,
    ToDouble,
    ToText,
    ToBool,
    ToBytes,
    ToTime,
    ToSpan,
    ToAny,
    IsSorted,
    Sum,
    Min,
    Max,
    SetContains,
    SetIntersects,
    SetEquivalent,
    GetHours,
    GetMinutes,
    GetSeconds,
    GetMilliseconds,
    HasValue,
    Value,
    OrValue,
    OptionalOf,
    OptionalNone,
    Quantity,
    IsQuantity,
    CompareTo,
    IsGreaterThan,
    IsLessThan,
    Sign,
    AsInteger,
    AsApproximateFloat,
    IsUrl,
    IsIp,
    IsCidr,
    Url,
    GetScheme,
    GetHost,
    GetHostname,
    GetPort,
    GetEscapedPath,
    GetQuery,
    Ip,
    Family,
    IsLoopback,
    IsUnspecified,
    Cidr,
    ContainsIp,
    ContainsCidr,
    PrefixLength,
    Type,
}

/// A function with an expression that must be a literal, so that it is compiled once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matching {
    Matches,
    Find,
    FindAll,
}

/// A type that an argument must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Any,
    Bool,
    Int,
    Number,
    Text,
    Time,
    Span,
    List,
    /// What has a size.
    Sized,
    Optional,
    Quantity,
    Url,
    Ip,
    Cidr,
}

/// What a call comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    Any,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Span,
    Quantity,
    Url,
    Ip,
    Cidr,
    Texts,
    /// Lists of texts by name.
    TextLists,
    /// The type of the elements of the first argument.
    Element,
    /// What the optional holds.
    Inside,
    /// An optional of the first argument.
    Optional,
}

/// What a call costs beside its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Costs {
    One,
    /// Each argument is read once.
    Walk,
    /// Each element of one argument is compared with each of the other.
    Product,
}

struct Signature {
    /// As it is written: with a dot before it if it is called on its first argument.
    name: &'static str,
    takes: &'static [Takes],
    gives: Gives,
    costs: Costs,
    function: Function,
}

const fn row(
    name: &'static str,
    takes: &'static [Takes],
    gives: Gives,
    costs: Costs,
    function: Function,
) -> Signature {
    Signature {
        name,
        takes,
        gives,
        costs,
        function,
    }
}

use Costs::{One, Product, Walk};
use Takes as T;

// A row is a line.
#[rustfmt::skip]
const TABLE: &[Signature] = &[
    row("size", &[T::Sized], Gives::Int, One, Function::Size),
    row(".size", &[T::Sized], Gives::Int, One, Function::Size),
    row(".contains", &[T::Text, T::Text], Gives::Bool, Product, Function::Contains),
    row(".startsWith", &[T::Text, T::Text], Gives::Bool, Walk, Function::StartsWith),
    row(".endsWith", &[T::Text, T::Text], Gives::Bool, Walk, Function::EndsWith),
    row(".charAt", &[T::Text, T::Int], Gives::Text, Walk, Function::CharAt),
    row(".indexOf", &[T::Text, T::Text], Gives::Int, Product, Function::IndexOf),
    row(".indexOf", &[T::List, T::Any], Gives::Int, Walk, Function::IndexOf),
    row(".lastIndexOf", &[T::Text, T::Text], Gives::Int, Product, Function::LastIndexOf),
    row(".lastIndexOf", &[T::List, T::Any], Gives::Int, Walk, Function::LastIndexOf),
    row(".lowerAscii", &[T::Text], Gives::Text, Walk, Function::LowerAscii),
    row(".upperAscii", &[T::Text], Gives::Text, Walk, Function::UpperAscii),
    row(".replace", &[T::Text, T::Text, T::Text], Gives::Text, Product, Function::Replace),
    row(".split", &[T::Text, T::Text], Gives::Texts, Walk, Function::Split),
    row(".substring", &[T::Text, T::Int], Gives::Text, Walk, Function::Substring),
    row(".substring", &[T::Text, T::Int, T::Int], Gives::Text, Walk, Function::Substring),
    row(".trim", &[T::Text], Gives::Text, Walk, Function::Trim),
    row(".join", &[T::List], Gives::Text, Walk, Function::Join),
    row(".join", &[T::List, T::Text], Gives::Text, Walk, Function::Join),
    row("int", &[T::Any], Gives::Int, Walk, Function::ToInt),
    row("uint", &[T::Any], Gives::Uint, Walk, Function::ToUint),
    row("double", &[T::Any], Gives::Double, Walk, Function::ToDouble),
    row("string", &[T::Any], Gives::Text, Walk, Function::ToText),
    row("bool", &[T::Any], Gives::Bool, Walk, Function::ToBool),
    row("bytes", &[T::Text], Gives::Bytes, Walk, Function::ToBytes),
    row("timestamp", &[T::Text], Gives::Time, One, Function::ToTime),
    row("timestamp", &[T::Time], Gives::Time, One, Function::ToTime),
    row("duration", &[T::Text], Gives::Span, One, Function::ToSpan),
    row("duration", &[T::Span], Gives::Span, One, Function::ToSpan),
    row("dyn", &[T::Any], Gives::Any, One, Function::ToAny),
    row("type", &[T::Any], Gives::Any, One, Function::Type),
    row(".isSorted", &[T::List], Gives::Bool, Walk, Function::IsSorted),
    row(".sum", &[T::List], Gives::Element, Walk, Function::Sum),
    row(".min", &[T::List], Gives::Element, Walk, Function::Min),
    row(".max", &[T::List], Gives::Element, Walk, Function::Max),
    row("sets.contains", &[T::List, T::List], Gives::Bool, Product, Function::SetContains),
    row("sets.intersects", &[T::List, T::List], Gives::Bool, Product, Function::SetIntersects),
    row("sets.equivalent", &[T::List, T::List], Gives::Bool, Product, Function::SetEquivalent),
    row(".getHours", &[T::Time], Gives::Int, One, Function::GetHours),
    row(".getHours", &[T::Span], Gives::Int, One, Function::GetHours),
    row(".getMinutes", &[T::Time], Gives::Int, One, Function::GetMinutes),
    row(".getMinutes", &[T::Span], Gives::Int, One, Function::GetMinutes),
    row(".getSeconds", &[T::Time], Gives::Int, One, Function::GetSeconds),
    row(".getSeconds", &[T::Span], Gives::Int, One, Function::GetSeconds),
    row(".getMilliseconds", &[T::Span], Gives::Int, One, Function::GetMilliseconds),
    row(".hasValue", &[T::Optional], Gives::Bool, One, Function::HasValue),
    row(".value", &[T::Optional], Gives::Inside, One, Function::Value),
    row(".orValue", &[T::Optional, T::Any], Gives::Inside, One, Function::OrValue),
    row("optional.of", &[T::Any], Gives::Optional, One, Function::OptionalOf),
    row("optional.none", &[], Gives::Optional, One, Function::OptionalNone),
    row("quantity", &[T::Text], Gives::Quantity, One, Function::Quantity),
    row("isQuantity", &[T::Text], Gives::Bool, One, Function::IsQuantity),
    row(".compareTo", &[T::Quantity, T::Quantity], Gives::Int, One, Function::CompareTo),
    row(".isGreaterThan", &[T::Quantity, T::Quantity], Gives::Bool, One, Function::IsGreaterThan),
    row(".isLessThan", &[T::Quantity, T::Quantity], Gives::Bool, One, Function::IsLessThan),
    row(".sign", &[T::Quantity], Gives::Int, One, Function::Sign),
    row(".asInteger", &[T::Quantity], Gives::Int, One, Function::AsInteger),
    row(".asApproximateFloat", &[T::Quantity], Gives::Double, One, Function::AsApproximateFloat),
    row("isURL", &[T::Text], Gives::Bool, Walk, Function::IsUrl),
    row("isIP", &[T::Text], Gives::Bool, One, Function::IsIp),
    row("isCIDR", &[T::Text], Gives::Bool, One, Function::IsCidr),
    row("url", &[T::Text], Gives::Url, Walk, Function::Url),
    row(".getScheme", &[T::Url], Gives::Text, One, Function::GetScheme),
    row(".getHost", &[T::Url], Gives::Text, One, Function::GetHost),
    row(".getHostname", &[T::Url], Gives::Text, One, Function::GetHostname),
    row(".getPort", &[T::Url], Gives::Text, One, Function::GetPort),
    row(".getEscapedPath", &[T::Url], Gives::Text, One, Function::GetEscapedPath),
    row(".getQuery", &[T::Url], Gives::TextLists, Walk, Function::GetQuery),
    row("ip", &[T::Text], Gives::Ip, One, Function::Ip),
    row(".family", &[T::Ip], Gives::Int, One, Function::Family),
    row(".isLoopback", &[T::Ip], Gives::Bool, One, Function::IsLoopback),
    row(".isUnspecified", &[T::Ip], Gives::Bool, One, Function::IsUnspecified),
    row("cidr", &[T::Text], Gives::Cidr, One, Function::Cidr),
    row(".ip", &[T::Cidr], Gives::Ip, One, Function::Ip),
    row(".prefixLength", &[T::Cidr], Gives::Int, One, Function::PrefixLength),
    row(".containsIP", &[T::Cidr, T::Ip], Gives::Bool, One, Function::ContainsIp),
    row(".containsIP", &[T::Cidr, T::Text], Gives::Bool, One, Function::ContainsIp),
    row(".containsCIDR", &[T::Cidr, T::Cidr], Gives::Bool, One, Function::ContainsCidr),
    row(".containsCIDR", &[T::Cidr, T::Text], Gives::Bool, One, Function::ContainsCidr),
    row("!_", &[T::Bool], Gives::Bool, One, Function::Not),
    row("-_", &[T::Number], Gives::Element, One, Function::Negate),
    row("matches", &[T::Text, T::Text], Gives::Bool, Product, Function::Contains),
    row(".matches", &[T::Text, T::Text], Gives::Bool, Product, Function::Contains),
    row(".find", &[T::Text, T::Text], Gives::Text, Product, Function::Contains),
    row(".findAll", &[T::Text, T::Text], Gives::Texts, Product, Function::Contains),
];

/// A call that was found in the table.
pub(super) struct Found<'n> {
    pub(super) function: Function,
    pub(super) shape: Shape<'n>,
    /// Beside the cost of the arguments.
    pub(super) cost: u64,
}

/// Whether there is a function of that name.
pub(super) fn exists(name: &str) -> bool {
    TABLE.iter().any(|signature| signature.name == name)
}

/// Finds the function that takes these arguments.
pub(super) fn find<'n>(name: &str, args: &[Shape<'n>]) -> Option<Found<'n>> {
    let fits = |signature: &&Signature| {
        signature.name == name
            && signature.takes.len() == args.len()
            && signature
                .takes
                .iter()
                .zip(args)
                .all(|(takes, shape)| takes.accepts(shape))
    };
    let signature = TABLE.iter().find(fits)?;
    let sizes = args.iter().map(|shape| shape.size);
    let total = sizes.clone().fold(0, u64::saturating_add).max(1);
    let shape = signature.gives.shape(args, total)?;
    let cost = match signature.costs {
        One => 1,
        Walk => args
            .iter()
            .map(Shape::walk_cost)
            .fold(1, u64::saturating_add),
        Product => args
            .iter()
            .map(Shape::walk_cost)
            .fold(1, u64::saturating_mul),
    };
    Some(Found {
        function: signature.function,
        shape,
        cost,
    })
}

impl Takes {
    fn accepts(self, shape: &Shape<'_>) -> bool {
        let kind = &shape.kind;
        matches!(
            (self, kind),
            (Self::Any, _)
                | (_, Kind::Any)
                | (Self::Bool, Kind::Bool)
                | (Self::Int, Kind::Int)
                | (Self::Number, Kind::Int | Kind::Double)
                | (Self::Text, Kind::Text)
                | (Self::Time, Kind::Time)
                | (Self::Span, Kind::Span)
                | (Self::List, Kind::List(..))
                | (
                    Self::Sized,
                    Kind::Text | Kind::Bytes | Kind::List(..) | Kind::Map(_)
                )
                | (Self::Optional, Kind::Optional(_))
                | (Self::Quantity, Kind::Quantity)
                | (Self::Url, Kind::Url)
                | (Self::Ip, Kind::Ip)
                | (Self::Cidr, Kind::Cidr)
        )
    }
}

impl Gives {
    fn shape<'n>(self, args: &[Shape<'n>], total: u64) -> Option<Shape<'n>> {
        let kind = match self {
            Self::Any => Kind::Any,
            Self::Bool => Kind::Bool,
            Self::Int => Kind::Int,
            Self::Uint => Kind::Uint,
            Self::Double => Kind::Double,
            Self::Text => return Some(Shape::text(total)),
            Self::Bytes => Kind::Bytes,
            Self::Time => Kind::Time,
            Self::Span => Kind::Span,
            Self::Quantity => Kind::Quantity,
            Self::Url => Kind::Url,
            Self::Ip => Kind::Ip,
            Self::Cidr => Kind::Cidr,
            Self::TextLists => {
                let texts = Shape {
                    kind: Kind::List(Box::new(Shape::text(total)), ListType::Atomic),
                    size: total,
                };
                Kind::Map(Box::new(texts))
            }
            Self::Texts => {
                return Some(Shape {
                    kind: Kind::List(Box::new(Shape::text(total)), ListType::Atomic),
                    size: total,
                });
            }
            Self::Element => {
                let first = args.first()?;
                return first.element().or_else(|| Some(first.clone()));
            }
            Self::Inside => match &args.first()?.kind {
                Kind::Optional(of) => return Some((**of).clone()),
                _ => Kind::Any,
            },
            Self::Optional => {
                let inside = args.first().cloned();
                Kind::Optional(Box::new(inside.unwrap_or(Shape::of(Kind::Any))))
            }
        };
        Some(Shape { kind, size: total })
    }
}
